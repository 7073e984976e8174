// Where pool_bwd turns: several pixels of a window are largest.
#include <algorithm>

#include "reference/boundaries.h"
#include "reference/pool_bwd/pool_bwd.h"

namespace klab {

const Boundary<PoolBwd> kLargest("pixel and the largest before it", {"x", "kind"}, {"x[at] > x[largest]"},
                                 kThreeSides, [](const auto& a, Sides& met) {
                                   const PoolShape& s = a.shape;
                                   for (int64_t i = 0; s.is_max() && s.n > 0 && s.c > 0 && i < s.oh(); ++i)
                                     for (int64_t j = 0; j < s.ow(); ++j) {
                                       const PoolShape::Range rows = s.rows(i), columns = s.columns(j);
                                       double largest = a.x[s.x_at(0, 0, rows.begin, columns.begin)];
                                       for (int64_t p = rows.begin; p < rows.end; ++p)
                                         for (int64_t q = columns.begin; q < columns.end; ++q) {
                                           if (p == rows.begin && q == columns.begin) continue;
                                           const double value = a.x[s.x_at(0, 0, p, q)];
                                           met.compare(value, largest);
                                           largest = std::max(largest, value);
                                         }
                                     }
                                 });
const Boundary<PoolBwd> kTied(
    "two are largest, neither the first of the window", {"x", "d_y", "kind"}, {}, kHolds,
    [](const auto& a, Sides& met) {
      const PoolShape& s = a.shape;
      for (int64_t i = 0; s.is_max() && s.n > 0 && s.c > 0 && i < s.oh(); ++i)
        for (int64_t j = 0; j < s.ow(); ++j) {
          const PoolShape::Range rows = s.rows(i), columns = s.columns(j);
          const double first = a.x[s.x_at(0, 0, rows.begin, columns.begin)];
          double largest = first;
          int64_t count = 0;
          for (int64_t p = rows.begin; p < rows.end; ++p)
            for (int64_t q = columns.begin; q < columns.end; ++q) {
              const double value = a.x[s.x_at(0, 0, p, q)];
              count = value > largest ? 1 : count + (value == largest ? 1 : 0);
              largest = std::max(largest, value);
            }
          if (largest > first && count > 1) met.holds(true);
        }
    },
    [](const auto& x, Generator& random) {
      for (int64_t i = 0; i < volume(x.shape.x_dims()); ++i) drawn(x.x[i]) = float(random() % 4) - 2;
    });

}  // namespace klab
