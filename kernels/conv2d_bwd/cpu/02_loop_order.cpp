// conv2d_bwd.cpu.02_loop_order: one weight at a time, for a whole picture.
//
// CHANGE    as the forward's: a tap's rows and columns inside the image are known before its loop begins. d_x gets a shifted,
//           scaled picture of d_y for each weight; a gradient of a weight is the scalar product of two pictures, in 16 sums side
//           by side.
// EXPECT    both innermost loops walk along rows without a question, and no addition waits for the last: at least 4 times.
// NUMERICS  float sums; d_x one chain of at most k·r·s additions, d_w and d_b 16 chains.
// NEEDS     nothing. Channels last, neighbors in a row lie a pixel apart, and nothing becomes a vector.
#include <algorithm>

#include "harness/core/registrar.h"
#include "reference/conv2d_bwd/conv2d_bwd.h"

namespace klab {
namespace {

constexpr int64_t kSums = 16;

/// Outputs [begin, end) that a tap meets inside the image, along one axis, and the input that the first of them reads.
struct Inside {
  int64_t begin, end, input;
};

Inside inside(int64_t outputs, int64_t size, int64_t stride, int64_t offset) {
  const int64_t begin = offset >= 0 ? 0 : (-offset + stride - 1) / stride;
  const int64_t end = offset >= size ? 0 : std::min(outputs, (size - 1 - offset) / stride + 1);
  return {begin, end, begin * stride + offset};
}

/// Adds weight·d_y to d_x and returns Σ x·d_y, along one row. Neighbors lie `across_x` and `across_y` floats
/// apart.
void one_row(int64_t count, float weight, const float* x, float* d_x, int64_t across_x, const float* d_y,
             int64_t across_y, float* sums) {
  if (across_x != 1 || across_y != 1) {
    for (int64_t j = 0; j < count; ++j) {
      d_x[j * across_x] += weight * d_y[j * across_y];
      sums[j % kSums] += x[j * across_x] * d_y[j * across_y];
    }
    return;
  }
  for (int64_t j = 0; j < count; ++j) d_x[j] += weight * d_y[j];
  int64_t j = 0;
  for (; j + kSums <= count; j += kSums)
    for (int64_t i = 0; i < kSums; ++i) sums[i] += x[j + i] * d_y[j + i];
  for (; j < count; ++j) sums[j % kSums] += x[j] * d_y[j];
}

void one_tap(const Conv2dBwd::Args<float>& x, int64_t to, int64_t c, int64_t u, int64_t v) {
  const Conv2dShape& s = x.shape;
  const Inside rows = inside(s.oh(), s.h, s.stride_y, u * s.dilation_y - s.pad_y);
  const Inside columns = inside(s.ow(), s.w, s.stride_x, v * s.dilation_x - s.pad_x);
  const int64_t at = ((to * s.c + c) * s.r + u) * s.s + v, from = to / s.k * s.c + c;
  const int64_t across_x = (s.nhwc != 0 ? s.in_channels() : 1) * s.stride_x;
  const int64_t across_y = s.nhwc != 0 ? s.out_channels() : 1;
  float sums[kSums] = {};
  for (int64_t image = 0; image < s.n && columns.begin < columns.end; ++image)
    for (int64_t i = rows.begin; i < rows.end; ++i) {
      const int64_t in = s.x_at(image, from, rows.input + (i - rows.begin) * s.stride_y, columns.input);
      one_row(columns.end - columns.begin, x.w[at], x.x + in, x.d_x + in, across_x,
              x.d_y + s.y_at(image, to, i, columns.begin), across_y, sums);
    }
  float sum = 0;
  for (const float one : sums) sum += one;
  x.d_w[at] = sum;
}

float bias(const Conv2dBwd::Args<float>& x, int64_t to) {
  const Conv2dShape& s = x.shape;
  float sums[kSums] = {}, sum = 0;
  for (int64_t image = 0; image < s.n; ++image)
    for (int64_t i = 0; i < s.oh(); ++i)
      for (int64_t j = 0; j < s.ow(); ++j) sums[j % kSums] += x.d_y[s.y_at(image, to, i, j)];
  for (const float one : sums) sum += one;
  return sum;
}

void run(const Conv2dBwd::Args<float>& x) {
  const Conv2dShape& s = x.shape;
  std::fill_n(x.d_x, volume(s.x_dims()), 0.0F);
  for (int64_t to = 0; to < s.out_channels(); ++to) {
    x.d_b[to] = bias(x, to);
    for (int64_t c = 0; c < s.c; ++c)
      for (int64_t u = 0; u < s.r; ++u)
        for (int64_t v = 0; v < s.s; ++v) one_tap(x, to, c, u, v);
  }
}

KLAB_VARIANT(Conv2dBwd,
             {.run = run,
              .parent = "01_naive",
              .tiles = {kSums},
              .expect = {.shape = {1, 1, 64, 64, 56, 56, 3, 3, 1, 1, 1, 1, 1, 1, 0}, .over_parent = 4}});

}  // namespace
}  // namespace klab
