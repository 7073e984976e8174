// pad2d_fwd.cpu.01_naive: each place of the padded picture asks for its pixel.
//
// CHANGE    the definition: for every output two loops find the pixel that it shows.
// EXPECT    a handful of comparisons and a multiplication for each number moved; a mean is one chain of additions.
// NUMERICS  copies are exact; a mean is a float sum along rows, then a division.
#include "harness/core/registrar.h"
#include "reference/pad2d_fwd/pad2d_fwd.h"

namespace klab {
namespace {

/// Returns what a border that copies nothing holds.
float border_of(const PadShape& s, const float* picture) {
  if (s.kind != PadShape::mean) return 0;
  float sum = 0;
  for (int64_t k = 0; k < s.h * s.w; ++k) sum += picture[k];
  return sum / float(s.h * s.w);
}

void run(const Pad2dFwd::Args<float>& x) {
  const PadShape& s = x.shape;
  for (int64_t plane = 0; plane < s.planes; ++plane) {
    const float* picture = x.x + plane * s.h * s.w;
    const float border = border_of(s, picture);
    for (int64_t i = 0; i < s.oh(); ++i)
      for (int64_t j = 0; j < s.ow(); ++j) {
        const int64_t row = i - s.pad_y, column = j - s.pad_x;
        x.y[(plane * s.oh() + i) * s.ow() + j] =
            s.inside(row, column) || s.copies() ? picture[s.source(row, s.h) * s.w + s.source(column, s.w)]
                                                : border;
      }
  }
}

KLAB_VARIANT(Pad2dFwd, {.run = run});

}  // namespace
}  // namespace klab
