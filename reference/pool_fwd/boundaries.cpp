// Where pool_fwd turns: the largest of a window, and windows that reach over the border.
#include <algorithm>

#include "reference/boundaries.h"
#include "reference/pool_fwd/pool_fwd.h"

namespace klab {
namespace {

/// Calls visit(rows, columns) for each window.
void each_window(const PoolShape& s, auto&& visit) {
  for (int64_t i = 0; i < s.oh(); ++i)
    for (int64_t j = 0; j < s.ow(); ++j) visit(s.rows(i), s.columns(j));
}

const Boundary<PoolFwd> kLargest("pixel and the largest before it", {"x", "kind"}, {"value > largest ?"},
                                 kThreeSides, [](const auto& a, Sides& met) {
                                   const PoolShape& s = a.shape;
                                   if (!s.is_max() || s.n == 0 || s.c == 0) return;
                                   each_window(s, [&](PoolShape::Range rows, PoolShape::Range columns) {
                                     double largest = a.x[s.x_at(0, 0, rows.begin, columns.begin)];
                                     for (int64_t p = rows.begin; p < rows.end; ++p)
                                       for (int64_t q = columns.begin; q < columns.end; ++q) {
                                         if (p == rows.begin && q == columns.begin) continue;
                                         const double value = a.x[s.x_at(0, 0, p, q)];
                                         met.compare(value, largest);
                                         largest = std::max(largest, value);
                                       }
                                   });
                                 });
const Boundary<PoolFwd> kNegative("all pixels of a window are negative", {"x", "kind"}, {}, kEither,
                                  [](const auto& a, Sides& met) {
                                    const PoolShape& s = a.shape;
                                    if (!s.is_max() || s.n == 0 || s.c == 0) return;
                                    each_window(s, [&](PoolShape::Range rows, PoolShape::Range columns) {
                                      bool negative = true;
                                      for (int64_t p = rows.begin; p < rows.end; ++p)
                                        for (int64_t q = columns.begin; q < columns.end; ++q)
                                          negative = negative && a.x[s.x_at(0, 0, p, q)] < 0;
                                      met.holds(negative);
                                    });
                                  });
const Boundary<PoolFwd> kUpper("first pixel of a window", {"pad_y", "pad_x"}, {"std::max<int64_t>(from, 0)"},
                               kThreeSides, [](const auto& a, Sides& met) {
                                 for (int64_t i = 0; i < a.shape.oh(); ++i)
                                   met.compare(i * a.shape.stride_y - a.shape.pad_y, 0);
                                 for (int64_t j = 0; j < a.shape.ow(); ++j)
                                   met.compare(j * a.shape.stride_x - a.shape.pad_x, 0);
                               });
const Boundary<PoolFwd> kLower("end of a window and of the picture", {"h", "w", "pad_y", "pad_x"},
                               {"std::min(from + length, size)"}, kThreeSides, [](const auto& a, Sides& met) {
                                 const PoolShape& s = a.shape;
                                 for (int64_t i = 0; i < s.oh(); ++i)
                                   met.compare(i * s.stride_y - s.pad_y + s.r, s.h);
                                 for (int64_t j = 0; j < s.ow(); ++j)
                                   met.compare(j * s.stride_x - s.pad_x + s.s, s.w);
                               });
const Boundary<PoolFwd> kKind("maximum", {"kind"}, {"kind == 0"}, kEither,
                              [](const auto& a, Sides& met) { met.holds(a.shape.is_max()); });
const Boundary<PoolFwd> kCounted("padding is counted at the border", {"kind", "pad_y", "pad_x"},
                                 {"kind == 2 ?"}, kEither, [](const auto& a, Sides& met) {
                                   if (!a.shape.is_max() && a.shape.pad_y + a.shape.pad_x > 0)
                                     met.holds(a.shape.kind == 2);
                                 });
const Boundary<PoolFwd> kLayout("channels last", {"nhwc"}, {"nhwc != 0 ?"}, kEither,
                                [](const auto& a, Sides& met) { met.holds(a.shape.nhwc != 0); });

/// Returns whether some window reaches over the edge.
bool reads_border(const PoolShape& s) {
  return s.pad_y + s.pad_x > 0 || (s.oh() - 1) * s.stride_y + s.r > s.h ||
         (s.ow() - 1) * s.stride_x + s.s > s.w;
}

const Boundary<PoolFwd> kBorder("a border that counts", {"border"}, {"border != 0"}, kEither,
                                [](const auto& a, Sides& met) {
                                  if (reads_border(a.shape)) met.holds(a.shape.border != 0);
                                });
const Boundary<PoolFwd> kReplicate("replicate", {"border"}, {}, kEither, [](const auto& a, Sides& met) {
  if (reads_border(a.shape)) met.holds(a.shape.border == PadShape::replicate);
});
const Boundary<PoolFwd> kCircular("circular", {"border"}, {}, kEither, [](const auto& a, Sides& met) {
  if (reads_border(a.shape)) met.holds(a.shape.border == PadShape::circular);
});
const Boundary<PoolFwd> kReflect("reflect", {"border"}, {}, kEither, [](const auto& a, Sides& met) {
  if (reads_border(a.shape)) met.holds(a.shape.border == PadShape::reflect);
});
const Boundary<PoolFwd> kMean("mean", {"border"}, {}, kEither, [](const auto& a, Sides& met) {
  if (reads_border(a.shape)) met.holds(a.shape.border == PadShape::mean);
});

}  // namespace
}  // namespace klab
