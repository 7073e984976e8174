// conv2d_fwd.cpu.01_naive: each output is a sum over channels, rows and columns of a window.
//
// CHANGE    the definition: for every output three loops over the window, and a question at every tap whether it lies
//           inside the image.
// EXPECT    one multiply-add an addition's latency, with an index computed and two comparisons for each.
// NUMERICS  float accumulator that begins with the bias, one chain of c·r·s additions.
// NEEDS     nothing; both layouts. A border other than zeros: a copy of the pictures with it.
#include "harness/core/registrar.h"
#include "kernels/common/pad/layers.h"
#include "reference/conv2d_fwd/conv2d_fwd.h"

namespace klab {
namespace {

float output(const Conv2dFwd::Args<float>& x, int64_t image, int64_t to, int64_t i, int64_t j) {
  const Conv2dShape& s = x.shape;
  float sum = x.b[to];
  for (int64_t c = 0; c < s.c; ++c)
    for (int64_t u = 0; u < s.r; ++u)
      for (int64_t v = 0; v < s.s; ++v) {
        const int64_t row = i * s.stride_y + u * s.dilation_y - s.pad_y;
        const int64_t column = j * s.stride_x + v * s.dilation_x - s.pad_x;
        if (row < 0 || row >= s.h || column < 0 || column >= s.w) continue;
        sum +=
            x.w[((to * s.c + c) * s.r + u) * s.s + v] * x.x[s.x_at(image, to / s.k * s.c + c, row, column)];
      }
  return sum;
}

void run(const Conv2dFwd::Args<float>& x) {
  const Conv2dShape& s = x.shape;
  if (s.border != 0) return pad::forward(x, s.in_channels(), run);
  for (int64_t image = 0; image < s.n; ++image)
    for (int64_t to = 0; to < s.out_channels(); ++to)
      for (int64_t i = 0; i < s.oh(); ++i)
        for (int64_t j = 0; j < s.ow(); ++j) x.y[s.y_at(image, to, i, j)] = output(x, image, to, i, j);
}

KLAB_VARIANT(Conv2dFwd, {.run = run, .needs = {"border"}});

}  // namespace
}  // namespace klab
