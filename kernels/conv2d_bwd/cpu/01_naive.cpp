// conv2d_bwd.cpu.01_naive: every product of the forward, run backwards.
//
// CHANGE    the definition: for each output and each tap, the output's gradient times the weight is added to the input's
//           gradient, and times the input to the weight's.
// EXPECT    two multiply-adds into memory for each product of the forward, one of them always into the same weight: a chain
//           through a store and a load.
// NUMERICS  float accumulators in memory; d_w and d_b one chain of n·oh·ow additions, d_x one of at most k·r·s.
// NEEDS     nothing; both layouts. A border other than zeros: copies of the pictures with it, and their gradients.
#include <algorithm>

#include "harness/core/registrar.h"
#include "kernels/common/pad/layers.h"
#include "reference/conv2d_bwd/conv2d_bwd.h"

namespace klab {
namespace {

void one_output(const Conv2dBwd::Args<float>& x, int64_t image, int64_t to, int64_t i, int64_t j) {
  const Conv2dShape& s = x.shape;
  const float d_y = x.d_y[s.y_at(image, to, i, j)];
  x.d_b[to] += d_y;
  for (int64_t c = 0; c < s.c; ++c)
    for (int64_t u = 0; u < s.r; ++u)
      for (int64_t v = 0; v < s.s; ++v) {
        const int64_t row = i * s.stride_y + u * s.dilation_y - s.pad_y;
        const int64_t column = j * s.stride_x + v * s.dilation_x - s.pad_x;
        if (row < 0 || row >= s.h || column < 0 || column >= s.w) continue;
        const int64_t from = s.x_at(image, to / s.k * s.c + c, row, column);
        const int64_t weight = ((to * s.c + c) * s.r + u) * s.s + v;
        x.d_x[from] += x.w[weight] * d_y;
        x.d_w[weight] += x.x[from] * d_y;
      }
}

void run(const Conv2dBwd::Args<float>& x) {
  const Conv2dShape& s = x.shape;
  if (s.border != 0) return pad::backward(x, s.in_channels(), run);
  std::fill_n(x.d_x, volume(s.x_dims()), 0.0F);
  std::fill_n(x.d_w, volume(s.w_dims()), 0.0F);
  std::fill_n(x.d_b, s.out_channels(), 0.0F);
  for (int64_t image = 0; image < s.n; ++image)
    for (int64_t to = 0; to < s.out_channels(); ++to)
      for (int64_t i = 0; i < s.oh(); ++i)
        for (int64_t j = 0; j < s.ow(); ++j) one_output(x, image, to, i, j);
}

KLAB_VARIANT(Conv2dBwd, {.run = run, .needs = {"border"}});

}  // namespace
}  // namespace klab
