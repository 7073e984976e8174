// Where reduce turns: sums that no order rounds, sums that cancel, infinities of both signs.
#include <cmath>

#include "reference/boundaries.h"
#include "reference/reduce/reduce.h"

namespace klab {

/// Whole numbers whose sums are exact in any order, so that one element too few or too many shows at every size.
const Boundary<Reduce> kExact(
    "sums of whole numbers that a float holds", {"x"},
    {"x.x[i] == std::trunc(x.x[i])", "whole && size <= 16777216"}, kEither,
    [](const auto& a, Sides& met) {
      double size = 0;
      bool whole = true;
      for (int64_t i = 0; i < a.shape.n; ++i) {
        size += std::abs(a.x[i]);
        whole = whole && a.x[i] == std::trunc(a.x[i]);
      }
      met.holds(whole && size > 0 && size <= 16777216);
    },
    [](const auto& x, Generator& random) {
      if (x.shape.n > 1 << 20) return;
      for (int64_t i = 0; i < x.shape.n; ++i)
        drawn(x.x[i]) = float(1 + random() % 9) - (random() % 2 ? 0.0F : 10.0F);
    });
const ResultBoundary<Reduce> kSign(
    "sum", {"x"}, {}, kThreeSides, [](const auto& a, Sides& met) { met.compare(*a.sum, 0); },
    [](const auto& x, Generator&) {
      for (int64_t i = 0; i + 1 < x.shape.n; i += 2) drawn(x.x[i + 1]) = -x.x[i];
      if (x.shape.n % 2 == 1) drawn(x.x[x.shape.n - 1]) = 0;
    });
const Boundary<Reduce> kInfinity("infinity", {"x"}, {}, kBelow | kAbove, [](const auto& a, Sides& met) {
  for (int64_t i = 0; i < a.shape.n; ++i)
    if (std::isinf(a.x[i])) met.compare(a.x[i], 0);
});

}  // namespace klab
