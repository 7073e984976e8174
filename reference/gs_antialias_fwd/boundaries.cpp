// Where gs_antialias_fwd turns: Gaussians so thin that the factor is held.
#include "reference/boundaries.h"
#include "reference/gs_antialias_fwd/gs_antialias_fwd.h"
#include "reference/gs_antialias_fwd/widened.h"

namespace klab {

const Boundary<GsAntialiasFwd> kLeast("q and its least", {"conic"}, {"> GsAntialiasFwd::least"},
                                      kBelow | kAbove, [](const auto& a, Sides& met) {
                                        for (int64_t i = 0; i < a.shape.n; ++i)
                                          met.compare(widened(a.conic, a.shape.n, i).q.value,
                                                      GsAntialiasFwd::least);
                                      });
const Boundary<GsAntialiasFwd> kCulled("conic of a culled Gaussian", {"conic"}, {}, kEither,
                                       [](const auto& a, Sides& met) {
                                         for (int64_t i = 0; i < a.shape.n; ++i) met.holds(a.conic[i] == 0);
                                       });
const NoBoundary<GsAntialiasFwd> kRest({{"<= 4 * (w.q.error",
                                         "a bound of rounding errors, which no kernel computes"}});

}  // namespace klab
