// Where conv2d_fwd turns: taps that reach over the border.
#include "reference/boundaries.h"
#include "reference/conv2d_fwd/conv2d_fwd.h"
#include "reference/conv2d_fwd/taps.h"

namespace klab {
namespace {

/// Calls visit(outputs, size, stride, offset) for each row and each column of taps.
void each_line(const Conv2dShape& s, auto&& visit) {
  for (int64_t u = 0; u < s.r; ++u) visit(s.oh(), s.h, s.stride_y, u * s.dilation_y - s.pad_y);
  for (int64_t v = 0; v < s.s; ++v) visit(s.ow(), s.w, s.stride_x, v * s.dilation_x - s.pad_x);
}

const Boundary<Conv2dFwd> kBegin("first input of a tap and the picture's begin", {"pad_y", "pad_x", "r", "s"},
                                 {"offset >= 0 ?"}, kThreeSides, [](const auto& a, Sides& met) {
                                   each_line(a.shape, [&](int64_t, int64_t, int64_t, int64_t offset) {
                                     met.compare(offset, 0);
                                   });
                                 });
const Boundary<Conv2dFwd> kEnd("first input of a tap and the picture's end", {"pad_y", "pad_x", "h", "w"},
                               {"offset >= size ?"}, kThreeSides, [](const auto& a, Sides& met) {
                                 each_line(a.shape, [&](int64_t, int64_t size, int64_t, int64_t offset) {
                                   met.compare(offset, size);
                                 });
                               });
const Boundary<Conv2dFwd> kLast("inputs of a tap and outputs", {"pad_y", "pad_x", "h", "w"},
                                {"std::min(outputs, (size"}, kThreeSides, [](const auto& a, Sides& met) {
                                  each_line(a.shape, [&](int64_t outputs, int64_t size, int64_t stride,
                                                         int64_t offset) {
                                    if (offset < size) met.compare((size - 1 - offset) / stride + 1, outputs);
                                  });
                                });
const Boundary<Conv2dFwd> kNever("tap lies outside for every output", {"pad_y", "pad_x", "h", "w"},
                                 {"std::max(begin, end)"}, kEither, [](const auto& a, Sides& met) {
                                   each_line(a.shape, [&](int64_t outputs, int64_t size, int64_t stride,
                                                          int64_t offset) {
                                     const conv2d::TapRange range =
                                         conv2d::tap_range(outputs, size, stride, offset);
                                     met.holds(range.end == range.begin);
                                   });
                                 });

const Boundary<Conv2dFwd> kLayout("channels last", {"nhwc"}, {"nhwc != 0 ?"}, kEither,
                                  [](const auto& a, Sides& met) { met.holds(a.shape.nhwc != 0); });

/// Returns whether some tap reads the border.
bool reads_border(const Conv2dShape& s) {
  bool reads = false;
  each_line(s, [&](int64_t outputs, int64_t size, int64_t stride, int64_t offset) {
    reads = reads || offset < 0 || (outputs - 1) * stride + offset >= size;
  });
  return reads;
}

const Boundary<Conv2dFwd> kBorder("another border than zeros", {"border"}, {"border != 0"}, kEither,
                                  [](const auto& a, Sides& met) {
                                    if (reads_border(a.shape)) met.holds(a.shape.border != 0);
                                  });
const Boundary<Conv2dFwd> kReplicate("replicate", {"border"}, {}, kEither, [](const auto& a, Sides& met) {
  if (reads_border(a.shape)) met.holds(a.shape.border == PadShape::replicate);
});
const Boundary<Conv2dFwd> kCircular("circular", {"border"}, {}, kEither, [](const auto& a, Sides& met) {
  if (reads_border(a.shape)) met.holds(a.shape.border == PadShape::circular);
});
const Boundary<Conv2dFwd> kReflect("reflect", {"border"}, {}, kEither, [](const auto& a, Sides& met) {
  if (reads_border(a.shape)) met.holds(a.shape.border == PadShape::reflect);
});
const Boundary<Conv2dFwd> kMean("mean", {"border"}, {}, kEither, [](const auto& a, Sides& met) {
  if (reads_border(a.shape)) met.holds(a.shape.border == PadShape::mean);
});

const NoBoundary<Conv2dFwd> kRest(
    {{"from >= 0 ?", "prices the op"},
     {"from >= size ?", "prices the op"},
     {"? -1 :", "prices the op"},
     {"std::min(last, (size", "prices the op"},
     {"std::max<int64_t>(0, end - begin", "prices the op"},
     {"i % channels", "an index: sizes draw every remainder"},
     {"std::max<int64_t>(1, std::thread", "shares the reference out to threads"},
     {"std::clamp<int64_t>(int64_t(products", "shares the reference out to threads"},
     {"std::min(processors", "shares the reference out to threads"},
     {"std::max<int64_t>(count, 1)", "shares the reference out to threads"}});

}  // namespace
}  // namespace klab
