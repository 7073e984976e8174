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

const Boundary<PoolBwd> kBorder("a border that counts", {"border"}, {"border != 0"}, kEither,
                                [](const auto& a, Sides& met) {
                                  if (a.shape.pad_y + a.shape.pad_x > 0) met.holds(a.shape.border != 0);
                                });
const Boundary<PoolBwd> kMean("mean", {"border"}, {"border == PadShape::mean"}, kEither,
                              [](const auto& a, Sides& met) {
                                if (a.shape.pad_y + a.shape.pad_x > 0)
                                  met.holds(a.shape.border == PadShape::mean);
                              });

const NoBoundary<PoolBwd> kRest(
    {{"pixel = -1, beyond = -1", "none found yet"},
     {"first < 0 || (&first == &pixel && x[at] > x[pixel])", "finds what a bound of roundings is about"},
     {"pixel < 0 || beyond < 0 || std::abs(x[pixel] - x[beyond]) > rounded * sizes[beyond]",
      "a bound of roundings, which no kernel computes"}});

}  // namespace klab
