// Where compact turns: empty views, and dimensions that repeat one element.
#include "reference/boundaries.h"
#include "reference/compact/compact.h"

namespace klab {

const Boundary<Compact> kEmpty("empty view", {"d0", "d1", "d2"}, {"s.d0 == 0 || s.d1 == 0 || s.d2 == 0"},
                               kEither, [](const auto& a, Sides& met) {
                                 met.holds(a.shape.d0 == 0 || a.shape.d1 == 0 || a.shape.d2 == 0);
                               });
const Boundary<Compact> kOuter("stride of d0", {"s0"}, {}, kOn | kAbove, [](const auto& a, Sides& met) {
  if (a.shape.d0 > 1) met.compare(a.shape.s0, 0);
});
const Boundary<Compact> kMiddle("stride of d1", {"s1"}, {}, kOn | kAbove, [](const auto& a, Sides& met) {
  if (a.shape.d1 > 1) met.compare(a.shape.s1, 0);
});
const Boundary<Compact> kInner("stride of d2", {"s2"}, {}, kThreeSides, [](const auto& a, Sides& met) {
  if (a.shape.d2 > 1) met.compare(a.shape.s2, 1);
});
const Boundary<Compact> kOffset("offset", {"offset"}, {}, kOn | kAbove,
                                [](const auto& a, Sides& met) { met.compare(a.shape.offset, 0); });

}  // namespace klab
