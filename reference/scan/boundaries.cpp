// Where scan turns: sums that wrap around, sums with the highest bit, elements that add nothing.
#include "reference/boundaries.h"
#include "reference/scan/scan.h"

namespace klab {

const ResultBoundary<Scan> kWrap("a sum wraps around", {"x"}, {}, kEither, [](const auto& a, Sides& met) {
  for (int64_t i = 1; i < a.shape.n; ++i) met.holds(a.y[i] < a.y[i - 1]);
});
const ResultBoundary<Scan> kHighest("bit 31 of a sum", {"x"}, {}, kEither, [](const auto& a, Sides& met) {
  for (int64_t i = 0; i < a.shape.n; ++i) met.holds(a.y[i] >> 31 != 0);
});
const Boundary<Scan> kNothing("an element adds nothing", {"x"}, {}, kEither, [](const auto& a, Sides& met) {
  for (int64_t i = 0; i < a.shape.n; ++i) met.holds(a.x[i] == 0);
});

}  // namespace klab
