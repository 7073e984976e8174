// conv2d_fwd.cpu.02_loop_order: one weight at a time, for a whole picture.
//
// CHANGE    the loops over the window move outside: a tap adds a shifted, scaled picture to the output. Which rows and columns
//           of it lie inside the image is computed once, not asked at every pixel.
// EXPECT    the innermost loop walks along a row of x and a row of y without a question, and the compiler makes vectors of it:
//           at least 4 times. Each multiply-add still loads a float of x, loads one of y and stores it.
// NUMERICS  float sums in memory, one chain of c·r·s additions: the same bits as the parent.
// NEEDS     nothing. Channels last, neighbors in a row lie a pixel apart, and nothing becomes a vector.
#include <algorithm>

#include "harness/core/registrar.h"
#include "reference/conv2d_fwd/conv2d_fwd.h"

namespace klab {
namespace {

/// Outputs [begin, end) that a tap meets inside the image, along one axis, and the input that the first of them reads.
struct Inside {
  int64_t begin, end, input;
};

Inside inside(int64_t outputs, int64_t size, int64_t stride, int64_t offset) {
  const int64_t begin = offset >= 0 ? 0 : (-offset + stride - 1) / stride;
  const int64_t end = offset >= size ? 0 : std::min(outputs, (size - 1 - offset) / stride + 1);
  return {begin, end, begin * stride + offset};
}

/// y[j·across_y] += weight·x[j·across_x]
void add_row(float weight, int64_t count, const float* x, int64_t across_x, float* y, int64_t across_y) {
  if (across_x == 1 && across_y == 1)
    for (int64_t j = 0; j < count; ++j) y[j] += weight * x[j];
  else
    for (int64_t j = 0; j < count; ++j) y[j * across_y] += weight * x[j * across_x];
}

void add_tap(const Conv2dFwd::Args<float>& x, int64_t image, int64_t to, int64_t c, int64_t u, int64_t v) {
  const Conv2dShape& s = x.shape;
  const Inside rows = inside(s.oh(), s.h, s.stride_y, u * s.dilation_y - s.pad_y);
  const Inside columns = inside(s.ow(), s.w, s.stride_x, v * s.dilation_x - s.pad_x);
  const float weight = x.w[((to * s.c + c) * s.r + u) * s.s + v];
  const int64_t across_x = (s.nhwc != 0 ? s.in_channels() : 1) * s.stride_x;
  const int64_t across_y = s.nhwc != 0 ? s.out_channels() : 1;
  for (int64_t i = rows.begin; i < rows.end; ++i) {
    const int64_t row = rows.input + (i - rows.begin) * s.stride_y;
    if (columns.begin < columns.end)
      add_row(weight, columns.end - columns.begin,
              x.x + s.x_at(image, to / s.k * s.c + c, row, columns.input), across_x,
              x.y + s.y_at(image, to, i, columns.begin), across_y);
  }
}

void run(const Conv2dFwd::Args<float>& x) {
  const Conv2dShape& s = x.shape;
  for (int64_t image = 0; image < s.n; ++image)
    for (int64_t to = 0; to < s.out_channels(); ++to) {
      for (int64_t i = 0; i < s.oh(); ++i)
        for (int64_t j = 0; j < s.ow(); ++j) x.y[s.y_at(image, to, i, j)] = x.b[to];
      for (int64_t c = 0; c < s.c; ++c)
        for (int64_t u = 0; u < s.r; ++u)
          for (int64_t v = 0; v < s.s; ++v) add_tap(x, image, to, c, u, v);
    }
}

KLAB_VARIANT(Conv2dFwd,
             {.run = run,
              .parent = "01_naive",
              .expect = {.shape = {1, 1, 64, 64, 56, 56, 3, 3, 1, 1, 1, 1, 1, 1, 0}, .over_parent = 4}});

}  // namespace
}  // namespace klab
