// Shared by the double references of the forward and the backward: which outputs a tap of a convolution's
// kernel meets inside the image, and work shared out to threads.
#pragma once

#include <algorithm>
#include <cstdint>
#include <thread>
#include <vector>

#include "reference/conv2d_fwd/conv2d_fwd.h"

namespace klab::conv2d {

/// Outputs [begin, end) along one axis, and the input that the first of them meets; the next is `stride` further.
struct TapRange {
  int64_t begin, end, input;
};

/// Outputs i of `outputs` with 0 <= i·stride + offset < size.
inline TapRange tap_range(int64_t outputs, int64_t size, int64_t stride, int64_t offset) {
  const int64_t begin = offset >= 0 ? 0 : (-offset + stride - 1) / stride;
  const int64_t end = offset >= size ? 0 : std::min(outputs, (size - 1 - offset) / stride + 1);
  return {begin, std::max(begin, end), begin * stride + offset};
}

/// visit(u, v, rows, columns) for each tap.
void each_tap(const Conv2dShape& s, auto&& visit) {
  for (int64_t u = 0; u < s.r; ++u)
    for (int64_t v = 0; v < s.s; ++v)
      visit(u, v, tap_range(s.oh(), s.h, s.stride_y, u * s.dilation_y - s.pad_y),
            tap_range(s.ow(), s.w, s.stride_x, v * s.dilation_x - s.pad_x));
}

/// work(i) for i in [0, count), by as many threads as the products are worth.
void shared_out(int64_t count, double products, auto&& work) {
  constexpr double worth_a_thread = 4e6;
  const int64_t processors = std::max<int64_t>(1, std::thread::hardware_concurrency());
  const int64_t parts = std::clamp<int64_t>(int64_t(products / worth_a_thread), 1,
                                            std::min(processors, std::max<int64_t>(count, 1)));
  const auto part = [&](int64_t t) {
    for (int64_t i = count * t / parts; i < count * (t + 1) / parts; ++i) work(i);
  };
  std::vector<std::jthread> others;
  for (int64_t t = 1; t < parts; ++t) others.emplace_back(part, t);
  part(0);
}

}  // namespace klab::conv2d
