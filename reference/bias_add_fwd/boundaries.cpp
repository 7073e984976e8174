// Where bias_add_fwd turns: one position for each channel, as behind a matrix product.
#include "reference/boundaries.h"
#include "reference/bias_add_fwd/bias_add_fwd.h"

namespace klab {

const Boundary<BiasAddFwd> kFlat("positions of a channel", {"hw"}, {}, kOn | kAbove,
                                 [](const auto& a, Sides& met) { met.compare(a.shape.hw, 1); });
const NoBoundary<BiasAddFwd> kRest({{"i / hw % c", "an index: sizes draw every remainder"},
                                    {"x.y[i] < 0 ?",
                                     "a bound of rounding errors, which no kernel computes"}});

}  // namespace klab
