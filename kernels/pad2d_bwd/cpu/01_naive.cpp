// pad2d_bwd.cpu.01_naive: each place sends its gradient to the pixel that it shows.
//
// CHANGE    the definition: d_x is zeroed, and every gradient of the padded picture is added to one pixel, or to the border's sum.
// EXPECT    the forward's comparisons, and an addition through memory for each number.
// NUMERICS  float sums in d_x, in the order of the padded picture; a mean's border is one float sum.
#include <algorithm>

#include "harness/core/registrar.h"
#include "reference/pad2d_bwd/pad2d_bwd.h"

namespace klab {
namespace {

void run(const Pad2dBwd::Args<float>& x) {
  const PadShape& s = x.shape;
  for (int64_t plane = 0; plane < s.planes; ++plane) {
    float *d_x = x.d_x + plane * s.h * s.w, border = 0;
    std::fill_n(d_x, s.h * s.w, 0.0F);
    for (int64_t i = 0; i < s.oh(); ++i)
      for (int64_t j = 0; j < s.ow(); ++j) {
        const int64_t row = i - s.pad_y, column = j - s.pad_x;
        float& to = s.inside(row, column) || s.copies()
                        ? d_x[s.source(row, s.h) * s.w + s.source(column, s.w)]
                        : border;
        to += x.d_y[(plane * s.oh() + i) * s.ow() + j];
      }
    if (s.kind != PadShape::mean) continue;
    const float share = border / float(s.h * s.w);
    for (int64_t k = 0; k < s.h * s.w; ++k) d_x[k] += share;
  }
}

KLAB_VARIANT(Pad2dBwd, {.run = run});

}  // namespace
}  // namespace klab
