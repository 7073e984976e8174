// pad2d_fwd.cpu.02_rows: a row at a time.
//
// CHANGE    a row of the padded picture shows one row of the picture: its source is found once, its middle is copied whole, and
//           only 2·pad_x places ask for their pixels. A mean has sixteen sums.
// EXPECT    a copy in vectors in place of comparisons for each number, and no chain of additions: at least 2 times.
// NUMERICS  a mean is sixteen strided sums, then their sum.
#include <algorithm>

#include "harness/core/registrar.h"
#include "reference/pad2d_fwd/pad2d_fwd.h"

namespace klab {
namespace {

constexpr int64_t kSums = 16;

/// Returns what a border that copies nothing holds.
float border_of(const PadShape& s, const float* picture) {
  if (s.kind != PadShape::mean) return 0;
  const int64_t count = s.h * s.w;
  float sums[kSums] = {};
  int64_t k = 0;
  for (; k + kSums <= count; k += kSums)
    for (int64_t l = 0; l < kSums; ++l) sums[l] += picture[k + l];
  for (; k < count; ++k) sums[0] += picture[k];
  float sum = 0;
  for (const float part : sums) sum += part;
  return sum / float(count);
}

void run(const Pad2dFwd::Args<float>& x) {
  const PadShape& s = x.shape;
  float* y = x.y;
  for (int64_t plane = 0; plane < s.planes; ++plane) {
    const float* picture = x.x + plane * s.h * s.w;
    const float border = border_of(s, picture);
    for (int64_t i = 0; i < s.oh(); ++i, y += s.ow()) {
      const int64_t row = i - s.pad_y;
      if (!s.inside(row, 0) && !s.copies()) {
        std::fill_n(y, s.ow(), border);
        continue;
      }
      const float* from = picture + s.source(row, s.h) * s.w;
      std::copy_n(from, s.w, y + s.pad_x);
      for (int64_t k = 0; k < s.pad_x; ++k) {
        y[k] = s.copies() ? from[s.source(k - s.pad_x, s.w)] : border;
        y[s.pad_x + s.w + k] = s.copies() ? from[s.source(s.w + k, s.w)] : border;
      }
    }
  }
}

KLAB_VARIANT(Pad2dFwd, {.run = run,
                        .parent = "01_naive",
                        .tiles = {kSums},
                        .expect = {.shape = {512, 56, 56, 1, 1, 4}, .over_parent = 2}});

}  // namespace
}  // namespace klab
