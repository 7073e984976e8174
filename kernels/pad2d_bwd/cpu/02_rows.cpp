// pad2d_bwd.cpu.02_rows: a row at a time, as in the forward.
//
// CHANGE    a row of d_y belongs to one row of d_x: its middle is added as a vector, or copied where it is the row's own, and
//           only 2·pad_x numbers ask for their pixels. Rows of the picture come first, so nothing is zeroed. The border of a mean is
//           summed in sixteen sums.
// EXPECT    additions in vectors in place of comparisons and an addition through memory for each number: at least 2 times.
// NUMERICS  a pixel's own gradient first, then those of the border in their order.
#include <algorithm>

#include "harness/core/registrar.h"
#include "reference/pad2d_bwd/pad2d_bwd.h"

namespace klab {
namespace {

constexpr int64_t kSums = 16;

float sum_of(const float* values, int64_t count) {
  float sums[kSums] = {};
  int64_t k = 0;
  for (; k + kSums <= count; k += kSums)
    for (int64_t l = 0; l < kSums; ++l) sums[l] += values[k + l];
  for (; k < count; ++k) sums[0] += values[k];
  float sum = 0;
  for (const float part : sums) sum += part;
  return sum;
}

/// Returns the sum over the border of one picture.
float border_sum(const PadShape& s, const float* d_y) {
  const int64_t above = s.pad_y * s.ow(), below = (s.pad_y + s.h) * s.ow();
  float sum = sum_of(d_y, above) + sum_of(d_y + below, above);
  for (int64_t row = 0; row < s.h; ++row) {
    const float* from = d_y + (s.pad_y + row) * s.ow();
    sum += sum_of(from, s.pad_x) + sum_of(from + s.pad_x + s.w, s.pad_x);
  }
  return sum;
}

void run(const Pad2dBwd::Args<float>& x) {
  const PadShape& s = x.shape;
  for (int64_t plane = 0; plane < s.planes; ++plane) {
    const float* d_y = x.d_y + plane * s.oh() * s.ow();
    float* d_x = x.d_x + plane * s.h * s.w;
    const float share = s.kind == PadShape::mean ? border_sum(s, d_y) / float(s.h * s.w) : 0;
    for (int64_t row = 0; row < s.h; ++row) {
      const float* from = d_y + (s.pad_y + row) * s.ow() + s.pad_x;
      for (int64_t k = 0; k < s.w; ++k) d_x[row * s.w + k] = from[k] + share;
    }
    for (int64_t i = 0; s.copies() && i < s.oh(); ++i) {
      const int64_t row = i - s.pad_y;
      const float* from = d_y + i * s.ow();
      float* to = d_x + s.source(row, s.h) * s.w;
      if (!s.inside(row, 0))
        for (int64_t k = 0; k < s.w; ++k) to[k] += from[s.pad_x + k];
      for (int64_t k = 0; k < s.pad_x; ++k) {
        to[s.source(k - s.pad_x, s.w)] += from[k];
        to[s.source(s.w + k, s.w)] += from[s.pad_x + s.w + k];
      }
    }
  }
}

KLAB_VARIANT(Pad2dBwd, {.run = run,
                        .parent = "01_naive",
                        .forward = "02_rows",
                        .tiles = {kSums},
                        .expect = {.shape = {512, 56, 56, 1, 1, 4}, .over_parent = 2}});

}  // namespace
}  // namespace klab
