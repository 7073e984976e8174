// Where gs_antialias_bwd turns: where the factor is held, its gradient is 0.
#include "reference/boundaries.h"
#include "reference/gs_antialias_bwd/gs_antialias_bwd.h"
#include "reference/gs_antialias_fwd/widened.h"

namespace klab {

const Boundary<GsAntialiasBwd> kLeast("q and its least", {"conic", "opacity", "d_shown"}, {}, kBelow | kAbove,
                                      [](const auto& a, Sides& met) {
                                        for (int64_t i = 0; i < a.shape.n; ++i)
                                          if (a.d_shown[i] != 0 && a.opacity[i] != 0)
                                            met.compare(widened(a.conic, a.shape.n, i).q.value,
                                                        GsAntialiasFwd::least);
                                      });
const Boundary<GsAntialiasBwd> kCulled("conic of a culled Gaussian", {"conic"}, {}, kEither,
                                       [](const auto& a, Sides& met) {
                                         for (int64_t i = 0; i < a.shape.n; ++i) met.holds(a.conic[i] == 0);
                                       });

}  // namespace klab
