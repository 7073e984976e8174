// conv2d_fwd.cpu.75_row_by_a_reciprocal: an output's row from its place times a reciprocal in float, which falls short
// at widths such as 41.
// Class: sizes. Must be caught as Fault::not_written.
#include "reference/conv2d_fwd/conv2d_fwd.h"
#include "tests/mutants/mutant.h"

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
  for (int64_t image = 0; image < s.n; ++image)
    for (int64_t to = 0; to < s.out_channels(); ++to)
      for (int64_t at = 0; at < s.oh() * s.ow(); ++at) {
        const auto i = int64_t(float(at) * (1.0F / float(s.ow())));
        x.y[s.y_at(image, to, i, at % s.ow())] = output(x, image, to, i, at % s.ow());
      }
}

KLAB_MUTANT(Conv2dFwd, Fault::not_written, {.run = run});

}  // namespace
}  // namespace klab
