#include "reference/conv2d_fwd/conv2d_fwd.h"

#include <cmath>

#include "reference/conv2d_fwd/taps.h"
#include "reference/pad2d_fwd/around.h"

namespace klab {
namespace {

/// One output channel of one image: every tap of every input channel adds a shifted picture.
void channel(const Conv2dFwd::Args<double>& x, double* magnitude, int64_t image, int64_t to) {
  const Conv2dShape& s = x.shape;
  const int64_t across_x = s.nhwc != 0 ? s.in_channels() : 1, across_y = s.nhwc != 0 ? s.out_channels() : 1;
  for (int64_t i = 0; i < s.oh(); ++i)
    for (int64_t j = 0; j < s.ow(); ++j) {
      x.y[s.y_at(image, to, i, j)] = x.b[to];
      magnitude[s.y_at(image, to, i, j)] = std::abs(x.b[to]);
    }
  for (int64_t c = 0; c < s.c; ++c)
    conv2d::each_tap(s, [&](int64_t u, int64_t v, conv2d::TapRange rows, conv2d::TapRange columns) {
      const double weight = x.w[((to * s.c + c) * s.r + u) * s.s + v];
      const int64_t count = columns.end - columns.begin, step = across_x * s.stride_x;
      for (int64_t i = rows.begin; i < rows.end && count > 0; ++i) {
        const int64_t row = rows.input + (i - rows.begin) * s.stride_y;
        const double* from = x.x + s.x_at(image, to / s.k * s.c + c, row, columns.input);
        double* sum = x.y + s.y_at(image, to, i, columns.begin);
        double* sum_abs = magnitude + s.y_at(image, to, i, columns.begin);
        for (int64_t j = 0; j < count; ++j) {
          const double product = weight * from[j * step];
          sum[j * across_y] += product;
          sum_abs[j * across_y] += std::abs(product);
        }
      }
    });
}

/// Writes the border around the pictures, and convolves those. Magnitudes are the results for magnitudes.
void with_border(const Conv2dFwd::Args<double>& x, const Conv2dFwd::Args<double>& magnitude) {
  const Conv2dShape &s = x.shape, whole = s.bordered();
  const Pictures pictures{s.pad(), s.in_channels(), bool(s.nhwc)};
  std::vector<double> unused(size_t(volume(s.y_dims())));
  const Conv2dFwd::Args<double> none{.shape = whole, .x = {}, .w = {}, .b = {}, .y = unused.data()};
  Conv2dFwd::reference({whole, pictures.with_border(x.x, false).data(), x.w, x.b, x.y}, none);
  Conv2dFwd::reference(
      {whole, pictures.with_border(x.x, true).data(), magnitudes_of(x.w, volume(s.w_dims())).data(),
       magnitudes_of(x.b, s.out_channels()).data(), magnitude.y},
      none);
}

}  // namespace

void Conv2dFwd::reference(const Args<double>& x, const Args<double>& magnitude) {
  const Conv2dShape& s = x.shape;
  if (s.border != 0) return with_border(x, magnitude);
  const int64_t channels = s.out_channels();
  conv2d::shared_out(s.n * channels, s.products(),
                     [&](int64_t i) { channel(x, magnitude.y, i / channels, i % channels); });
}

}  // namespace klab
