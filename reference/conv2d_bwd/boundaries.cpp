// Where conv2d_bwd turns: taps that reach over the border.
#include "reference/boundaries.h"
#include "reference/conv2d_bwd/conv2d_bwd.h"
#include "reference/conv2d_fwd/taps.h"

namespace klab {
namespace {

/// Calls visit(outputs, size, stride, offset) for each row and each column of taps.
void each_line(const Conv2dShape& s, auto&& visit) {
  for (int64_t u = 0; u < s.r; ++u) visit(s.oh(), s.h, s.stride_y, u * s.dilation_y - s.pad_y);
  for (int64_t v = 0; v < s.s; ++v) visit(s.ow(), s.w, s.stride_x, v * s.dilation_x - s.pad_x);
}

const Boundary<Conv2dBwd> kBegin("first input of a tap and the picture's begin", {"pad_y", "pad_x", "r", "s"},
                                 {}, kThreeSides, [](const auto& a, Sides& met) {
                                   each_line(a.shape, [&](int64_t, int64_t, int64_t, int64_t offset) {
                                     met.compare(offset, 0);
                                   });
                                 });
const Boundary<Conv2dBwd> kEnd("first input of a tap and the picture's end", {"pad_y", "pad_x", "h", "w"}, {},
                               kThreeSides, [](const auto& a, Sides& met) {
                                 each_line(a.shape, [&](int64_t, int64_t size, int64_t, int64_t offset) {
                                   met.compare(offset, size);
                                 });
                               });
const Boundary<Conv2dBwd> kLast("inputs of a tap and outputs", {"pad_y", "pad_x", "h", "w"}, {}, kThreeSides,
                                [](const auto& a, Sides& met) {
                                  each_line(a.shape, [&](int64_t outputs, int64_t size, int64_t stride,
                                                         int64_t offset) {
                                    if (offset < size) met.compare((size - 1 - offset) / stride + 1, outputs);
                                  });
                                });
const Boundary<Conv2dBwd> kNever("tap lies outside for every output", {"pad_y", "pad_x", "h", "w"}, {},
                                 kEither, [](const auto& a, Sides& met) {
                                   each_line(a.shape, [&](int64_t outputs, int64_t size, int64_t stride,
                                                          int64_t offset) {
                                     const conv2d::TapRange range =
                                         conv2d::tap_range(outputs, size, stride, offset);
                                     met.holds(range.end == range.begin);
                                   });
                                 });

const Boundary<Conv2dBwd> kLayout("channels last", {"nhwc"}, {"nhwc != 0 ?"}, kEither,
                                  [](const auto& a, Sides& met) { met.holds(a.shape.nhwc != 0); });

const Boundary<Conv2dBwd> kBorder("another border than zeros", {"border"}, {"border != 0"}, kEither,
                                  [](const auto& a, Sides& met) {
                                    if (a.shape.pad_y + a.shape.pad_x > 0) met.holds(a.shape.border != 0);
                                  });
const Boundary<Conv2dBwd> kMean("mean", {"border"}, {}, kEither, [](const auto& a, Sides& met) {
  if (a.shape.pad_y + a.shape.pad_x > 0) met.holds(a.shape.border == PadShape::mean);
});

const NoBoundary<Conv2dBwd> kRest({{"i % channels", "an index: sizes draw every remainder"},
                                   {"channel % s.c", "an index: sizes draw every remainder"}});

}  // namespace
}  // namespace klab
