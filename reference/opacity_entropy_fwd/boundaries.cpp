// Where opacity_entropy_fwd turns: rays that are empty or opaque.
#include "reference/boundaries.h"
#include "reference/opacity_entropy_fwd/opacity_entropy_fwd.h"

namespace klab {

const Boundary<OpacityEntropyFwd> kEmpty("opacity", {"opacity"}, {}, kOn | kAbove,
                                         [](const auto& a, Sides& met) {
                                           for (int64_t r = 0; r < a.shape.rays; ++r)
                                             met.compare(a.opacity[r], 0);
                                         });
const Boundary<OpacityEntropyFwd> kOpaque("opacity of an opaque ray", {"opacity"}, {}, kBelow | kOn,
                                          [](const auto& a, Sides& met) {
                                            for (int64_t r = 0; r < a.shape.rays; ++r)
                                              met.compare(a.opacity[r], 1);
                                          });

}  // namespace klab
