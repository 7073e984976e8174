// Boundaries of hashgrid_fwd and hashgrid_bwd: borders of the cube and of cells, dense levels.
#pragma once

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "reference/boundaries.h"
#include "reference/hashgrid_fwd/hashgrid_fwd.h"
#include "reference/hashgrid_fwd/layout.h"

namespace klab {

/// Code of a reference that decides each boundary, where it compares something there.
struct HashgridCode {
  std::vector<std::string> dense;
};

/// States them for one of both.
template <class Contract>
struct HashgridBoundaries {
  using Args = typename Contract::template Args<double>;
  using Drawn = typename Contract::template Args<float>;
  explicit HashgridBoundaries(const HashgridCode& code) {
    Boundary<Contract>("position", {"positions"}, {}, kOn | kAbove, [](const Args& a, Sides& met) {
      for (int64_t i = 0; i < a.shape.n * a.shape.dim; ++i) met.compare(a.positions[i], 0);
    });
    Boundary<Contract>("position and the far border", {"positions"}, {}, kBelow | kOn,
                       [](const Args& a, Sides& met) {
                         for (int64_t i = 0; i < a.shape.n * a.shape.dim; ++i) met.compare(a.positions[i], 1);
                       });
    Boundary<Contract>(
        "position lies on a grid line", {"positions", "base", "finest"}, {}, kEither,
        [](const Args& a, Sides& met) {
          each_level(a.shape, [&](const HashgridLevel& level) {
            for (int64_t i = 0; i < std::min<int64_t>(a.shape.n * a.shape.dim, 4096); ++i) {
              const double p = a.positions[i] * double(level.scale) + 0.5;
              met.holds(p == std::floor(p));
            }
          });
        },
        [](const Drawn& x, Generator& random) {
          std::vector<float> scales;
          each_level(x.shape, [&](const HashgridLevel& level) {
            if (level.scale >= 1 && level.scale == std::floor(level.scale)) scales.push_back(level.scale);
          });
          for (int64_t i = 0; i < x.shape.n * x.shape.dim && !scales.empty(); ++i) {
            const float scale = scales[random() % scales.size()],
                        line = float(random() % uint64_t(scale)) + 0.5F;
            if (const float at = line / scale;
                random() % 4 == 0 && double(at) * double(scale) == double(line))
              drawn(x.positions[i]) = at;
          }
        });
    Boundary<Contract>("grid points of a level and table", {"log2_table", "base", "finest"}, code.dense,
                       kEither, [](const Args& a, Sides& met) {
                         each_level(a.shape, [&](const HashgridLevel& level) { met.holds(level.dense); });
                       });
    Boundary<Contract>("two dimensions", {"dim"}, {"s.dim == 3 ?"}, kEither,
                       [](const Args& a, Sides& met) { met.holds(a.shape.dim == 2); });
  }

 private:
  /// Calls visit(level) for each level of the table.
  static void each_level(const HashgridShape& s, auto&& visit) {
    for (const HashgridLevel& level : hashgrid_levels(s)) visit(level);
  }
};

}  // namespace klab
