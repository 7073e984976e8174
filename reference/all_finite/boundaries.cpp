// Where all_finite turns: which values are finite, and an earlier find.
#include <algorithm>
#include <cmath>
#include <limits>

#include "reference/all_finite/all_finite.h"
#include "reference/boundaries.h"

namespace klab {
namespace {

using Args = AllFinite::Args<double>;
using Drawn = AllFinite::Args<float>;

int64_t first_of(const Args& a) {
  int64_t i = 0;
  while (i < a.shape.n && std::isfinite(a.p[i])) ++i;
  return i;
}

/// Makes that entry the first that is not finite, and lets the earlier find lie so far behind it.
void plant_first(const Drawn& x, int64_t at, int64_t behind) {
  for (int64_t i = 0; i < at; ++i) drawn(x.p[i]) = 1;
  drawn(x.p[at]) = INFINITY;
  *x.first = int32_t(at + behind);
}

const Boundary<AllFinite> kFinite("entry is finite", {"p"}, {"std::isfinite(x.p[i])"}, kEither,
                                  [](const auto& a, Sides& met) {
                                    for (int64_t i = 0; i < a.shape.n; ++i) met.holds(std::isfinite(a.p[i]));
                                  });
const Boundary<AllFinite> kEarlier(
    "earlier find and first entry that is not finite", {"first", "p"}, {"std::min(*x.first"}, kThreeSides,
    [](const auto& a, Sides& met) {
      if (const int64_t i = first_of(a); i < a.shape.n) met.compare(*a.first, int32_t(i));
    },
    [](const auto& x, Generator& random) {
      if (x.shape.n > 1) plant_first(x, 1 + int64_t(random() % uint64_t(x.shape.n - 1)), -1);
    });
const Boundary<AllFinite> kSame(
    "earlier find is the first entry that is not finite", {"first", "p"}, {}, kHolds,
    [](const auto& a, Sides& met) {
      if (const int64_t i = first_of(a); i < a.shape.n && *a.first == i) met.holds(true);
    },
    [](const auto& x, Generator& random) {
      if (x.shape.n > 0) plant_first(x, int64_t(random() % uint64_t(x.shape.n)), 0);
    });
const Boundary<AllFinite> kAlone(
    "one entry alone is not finite, the last", {"p"}, {}, kHolds,
    [](const auto& a, Sides& met) {
      if (a.shape.n > 1 && first_of(a) == a.shape.n - 1) met.holds(true);
    },
    [](const auto& x, Generator& random) {
      for (int64_t i = 0; i < x.shape.n; ++i)
        drawn(x.p[i]) = i + 1 < x.shape.n ? 1.0F : random() % 2 ? NAN : -INFINITY;
    });
const Boundary<AllFinite> kKinds("NaN", {"p"}, {}, kHolds, [](const auto& a, Sides& met) {
  for (int64_t i = 0; i < a.shape.n; ++i)
    if (std::isnan(a.p[i])) met.holds(true);
});
const Boundary<AllFinite> kInfinities("infinity", {"p"}, {}, kBelow | kAbove, [](const auto& a, Sides& met) {
  for (int64_t i = 0; i < a.shape.n; ++i)
    if (std::isinf(a.p[i])) met.compare(a.p[i], 0);
});
const Boundary<AllFinite> kLargest("largest finite number", {"p"}, {}, kHolds, [](const auto& a, Sides& met) {
  for (int64_t i = 0; i < a.shape.n; ++i)
    if (std::abs(a.p[i]) == double(std::numeric_limits<float>::max())) met.holds(true);
});

}  // namespace
}  // namespace klab
