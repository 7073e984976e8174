// Where window_sum turns: windows as wide as the input, windows over its ends.
#include "reference/boundaries.h"
#include "reference/window_sum/window_sum.h"

namespace klab {

const Boundary<WindowSum> kRadius("radius and elements", {"r", "n"}, {"std::min(r, n)"}, kThreeSides,
                                  [](const auto& x, Sides& met) { met.compare(x.shape.r, x.shape.n); });
const Boundary<WindowSum> kLower("begin of a window", {"r"}, {"j >= 0 && j < n"}, kThreeSides,
                                 [](const auto& x, Sides& met) {
                                   for (int64_t i = 0; i < x.shape.n; ++i) met.compare(i - x.shape.r, 0);
                                 });
const Boundary<WindowSum> kUpper("end of a window and elements", {"r", "n"}, {}, kThreeSides,
                                 [](const auto& x, Sides& met) {
                                   for (int64_t i = 0; i < x.shape.n; ++i)
                                     met.compare(i + x.shape.r, x.shape.n);
                                 });
const Boundary<WindowSum> kZero("sum of one element", {"r"}, {}, kOn | kAbove,
                                [](const auto& x, Sides& met) { met.compare(x.shape.r, 0); });
const NoBoundary<WindowSum> kRest({{"std::min(first + window, n)", "stretches of the reference"},
                                   {"i < end)", "stretches of the reference"}});

}  // namespace klab
