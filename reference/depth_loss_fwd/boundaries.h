// Where the contracts of a ray's depth turn, all of them: depths that are not known, and depths that are exact.
#pragma once

#include <cmath>
#include <utility>

#include "reference/boundaries.h"
#include "reference/depth_loss_fwd/depths.h"

namespace klab::depths {

/// Returns whether a ray tells the sides of a boundary apart: a gradient of 0 is 0 on all of them.
bool tells(const auto& a, int64_t r) {
  if constexpr (requires { a.d_loss; })
    return a.d_loss[r] != 0;
  else
    return true;
}

/// Boundaries of every contract of the family. `code`: of its reference, where it compares the depth with the truth.
template <class Op>
struct FamilyBoundaries {
  using Args = typename Op::template Args<double>;
  using Drawn = typename Op::template Args<float>;

  explicit FamilyBoundaries(std::vector<std::string> code = {})
      : known("known depth", {"truth"}, {"x.truth[r] > 0 ?"}, kThreeSides,
              [](const Args& a, Sides& met) {
                for (int64_t r = 0; r < a.shape.rays; ++r)
                  if (a.depth[r] != 0 && tells(a, r)) met.compare(a.truth[r], 0);
              }),
        minus_zero(
            "-0", {"truth"}, {}, kHolds,
            [](const Args& a, Sides& met) {
              for (int64_t r = 0; r < a.shape.rays; ++r)
                if (a.truth[r] == 0 && std::signbit(a.truth[r])) met.holds(true);
            },
            [](const Drawn& x, Generator& random) {
              for (int64_t r = 0; r < x.shape.rays; ++r)
                if (random() % 4 == 0) drawn(x.truth[r]) = -0.0F;
            }),
        exact(
            "depth and truth", {"depth", "truth"}, std::move(code), kThreeSides,
            [](const Args& a, Sides& met) {
              for (int64_t r = 0; r < a.shape.rays; ++r)
                if (a.truth[r] > 0 && tells(a, r)) met.compare(a.depth[r], a.truth[r]);
            },
            [](const Drawn& x, Generator& random) {
              for (int64_t r = 0; r < x.shape.rays; ++r)
                if (random() % 4 == 0) drawn(x.depth[r]) = x.truth[r];
            }) {}

  Boundary<Op> known, minus_zero, exact;
};

}  // namespace klab::depths
