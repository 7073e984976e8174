// Boundaries of hashtable_fwd and hashtable_bwd: borders of the cube and of cells, levels that are dense or a power of two.
#pragma once

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "reference/boundaries.h"
#include "reference/hashtable_fwd/hashtable_fwd.h"
#include "reference/hashtable_fwd/table_layout.h"

namespace klab {

/// Code of a reference that decides each boundary, where it compares something there.
struct HashtableCode {
  std::vector<std::string> dense, power, blends, line;
};

/// States them for one of both.
template <class Contract>
struct HashtableBoundaries {
  using Args = typename Contract::template Args<double>;
  using Drawn = typename Contract::template Args<float>;
  explicit HashtableBoundaries(const HashtableCode& code) {
    Boundary<Contract>("position", {"positions"}, {}, kOn | kAbove, [](const Args& a, Sides& met) {
      for (int64_t i = 0; i < a.shape.n * 3; ++i) met.compare(a.positions[i], 0);
    });
    Boundary<Contract>("position and the far border", {"positions"}, {}, kBelow | kOn,
                       [](const Args& a, Sides& met) {
                         for (int64_t i = 0; i < a.shape.n * 3; ++i) met.compare(a.positions[i], 1);
                       });
    Boundary<Contract>("level is dense", {"scales", "sizes"}, code.dense, kEither,
                       [](const Args& a, Sides& met) {
                         each_level(a, [&](const TableLevel& level) { met.holds(level.dense); });
                       });
    Boundary<Contract>("entries of a level are a power of two", {"sizes"}, code.power, kEither,
                       [](const Args& a, Sides& met) {
                         each_level(a, [&](const TableLevel& level) {
                           if (!level.dense) met.holds(level.entries == level.mask + 1);
                         });
                       });
    Boundary<Contract>("weights", {"blend"}, code.blends, kThreeSides,
                       [](const Args& a, Sides& met) { met.compare(a.shape.blend, 1); });
    Boundary<Contract>(
        "position lies on a grid line", {"positions", "scales", "blend"}, code.line, kEither,
        [](const Args& a, Sides& met) {
          for (int64_t l = 0; l < a.shape.levels; ++l)
            for (int64_t i = 0; i < std::min<int64_t>(3 * a.shape.n, 4096); ++i) {
              const double p = a.positions[i] * a.scales[l] + 0.5;
              met.holds(p == std::floor(p));
            }
        },
        [](const Drawn& x, Generator& random) {
          if (x.shape.blend == table_blend::nearest) return;  // the next grid point is another one
          for (int64_t l = 0; l < x.shape.levels; ++l)
            drawn(x.scales[l]) = float(uint32_t{1} << random() % 9);
          const float finest = x.scales[random() % uint64_t(x.shape.levels)];
          for (int64_t i = 0; i < 3 * x.shape.n; ++i)
            if (random() % 4 == 0)
              drawn(x.positions[i]) = (float(random() % uint64_t(finest)) + 0.5F) / finest;
        });
  }

 private:
  /// Calls visit(level) for each level of the table.
  static void each_level(const Args& a, auto&& visit) {
    int64_t offset = 0;
    for (int64_t l = 0; l < a.shape.levels; offset += a.sizes[l++])
      visit(table_level(float(a.scales[l]), a.sizes[l], offset));
  }
};

}  // namespace klab
