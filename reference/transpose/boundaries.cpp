// Where transpose turns: matrices of one row or column, values that only a copy keeps.
#include <cmath>

#include "reference/boundaries.h"
#include "reference/transpose/transpose.h"

namespace klab {

const Boundary<Transpose> kRows("rows", {"m"}, {}, kOn | kAbove, [](const auto& x, Sides& met) {
  if (x.shape.n > 1) met.compare(x.shape.m, 1);
});
const Boundary<Transpose> kColumns("columns", {"n"}, {}, kOn | kAbove, [](const auto& x, Sides& met) {
  if (x.shape.m > 1) met.compare(x.shape.n, 1);
});
const Boundary<Transpose> kNaN("NaN", {"in"}, {}, kEither, [](const auto& x, Sides& met) {
  for (int64_t i = 0; i < x.shape.m * x.shape.n; ++i) met.holds(std::isnan(x.in[i]));
});

}  // namespace klab
