// Where opacity_entropy_bwd turns: rays that are empty or opaque.
#include "reference/boundaries.h"
#include "reference/opacity_entropy_bwd/opacity_entropy_bwd.h"

namespace klab {

const Boundary<OpacityEntropyBwd> kEmpty("opacity", {"opacity"}, {}, kOn | kAbove,
                                         [](const auto& a, Sides& met) {
                                           for (int64_t r = 0; r < a.shape.rays; ++r)
                                             met.compare(a.opacity[r], 0);
                                         });
const Boundary<OpacityEntropyBwd> kOpaque("opacity of an opaque ray", {"opacity"}, {}, kBelow | kOn,
                                          [](const auto& a, Sides& met) {
                                            for (int64_t r = 0; r < a.shape.rays; ++r)
                                              met.compare(a.opacity[r], 1);
                                          });

}  // namespace klab
