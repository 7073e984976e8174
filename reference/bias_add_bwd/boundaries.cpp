// Where bias_add_bwd turns: one position for each channel, as behind a matrix product.
#include "reference/boundaries.h"
#include "reference/bias_add_bwd/bias_add_bwd.h"

namespace klab {

const Boundary<BiasAddBwd> kFlat("positions of a channel", {"hw"}, {}, kOn | kAbove,
                                 [](const auto& a, Sides& met) { met.compare(a.shape.hw, 1); });
const NoBoundary<BiasAddBwd> kRest({{"i / hw % c", "an index: sizes draw every remainder"},
                                    {"d < 0 ?", "a bound of rounding errors, which no kernel computes"}});

}  // namespace klab
