#include "reference/conv2d_bwd/conv2d_bwd.h"

#include <cmath>

#include "reference/conv2d_fwd/taps.h"
#include "reference/pad2d_fwd/around.h"

namespace klab {
namespace {

using Args = Conv2dBwd::Args<double>;

/// d_x of one input channel of one image: every tap adds d_y to the pixel that it read.
void input_channel(const Args& x, double* magnitude, int64_t image, int64_t channel) {
  const Conv2dShape& s = x.shape;
  const int64_t across_x = s.nhwc != 0 ? s.in_channels() : 1, across_y = s.nhwc != 0 ? s.out_channels() : 1;
  for (int64_t i = 0; i < s.h; ++i)
    for (int64_t j = 0; j < s.w; ++j)
      x.d_x[s.x_at(image, channel, i, j)] = magnitude[s.x_at(image, channel, i, j)] = 0;
  for (int64_t k = 0; k < s.k; ++k)
    conv2d::each_tap(s, [&](int64_t u, int64_t v, conv2d::TapRange rows, conv2d::TapRange columns) {
      const int64_t from = channel / s.c * s.k + k;
      const double weight = x.w[((from * s.c + channel % s.c) * s.r + u) * s.s + v];
      const int64_t count = columns.end - columns.begin, step = across_x * s.stride_x;
      for (int64_t i = rows.begin; i < rows.end && count > 0; ++i) {
        const int64_t row = rows.input + (i - rows.begin) * s.stride_y;
        const double* d_y = x.d_y + s.y_at(image, from, i, columns.begin);
        double* sum = x.d_x + s.x_at(image, channel, row, columns.input);
        double* sum_abs = magnitude + s.x_at(image, channel, row, columns.input);
        for (int64_t j = 0; j < count; ++j) {
          const double product = weight * d_y[j * across_y];
          sum[j * step] += product;
          sum_abs[j * step] += std::abs(product);
        }
      }
    });
}

/// d_w and d_b of one output channel.
void filter(const Args& x, const Args& magnitude, int64_t to) {
  const Conv2dShape& s = x.shape;
  const int64_t across_x = s.nhwc != 0 ? s.in_channels() : 1, across_y = s.nhwc != 0 ? s.out_channels() : 1;
  double bias = 0, bias_abs = 0;
  for (int64_t image = 0; image < s.n; ++image)
    for (int64_t i = 0; i < s.oh(); ++i)
      for (int64_t j = 0; j < s.ow(); ++j) {
        bias += x.d_y[s.y_at(image, to, i, j)];
        bias_abs += std::abs(x.d_y[s.y_at(image, to, i, j)]);
      }
  x.d_b[to] = bias;
  magnitude.d_b[to] = bias_abs;
  for (int64_t c = 0; c < s.c; ++c)
    conv2d::each_tap(s, [&](int64_t u, int64_t v, conv2d::TapRange rows, conv2d::TapRange columns) {
      const int64_t count = columns.end - columns.begin, step = across_x * s.stride_x;
      double sum = 0, sum_abs = 0;
      for (int64_t image = 0; image < s.n; ++image)
        for (int64_t i = rows.begin; i < rows.end && count > 0; ++i) {
          const int64_t row = rows.input + (i - rows.begin) * s.stride_y;
          const double* d_y = x.d_y + s.y_at(image, to, i, columns.begin);
          const double* from = x.x + s.x_at(image, to / s.k * s.c + c, row, columns.input);
          for (int64_t j = 0; j < count; ++j) {
            const double product = d_y[j * across_y] * from[j * step];
            sum += product;
            sum_abs += std::abs(product);
          }
        }
      const int64_t at = ((to * s.c + c) * s.r + u) * s.s + v;
      x.d_w[at] = sum;
      magnitude.d_w[at] = sum_abs;
    });
}

/// Gradients of the layer on pictures with their border, of which d_x is collected. Magnitudes are the results for magnitudes.
void with_border(const Args& x, const Args& magnitude) {
  const Conv2dShape &s = x.shape, whole = s.bordered();
  const Pictures pictures{s.pad(), s.in_channels(), bool(s.nhwc)};
  const auto size_of_x = size_t(volume(whole.x_dims()));
  std::vector<double> d_x(size_of_x), unused_x(size_of_x), unused_w(size_t(volume(s.w_dims()))),
      unused_b(size_t(s.out_channels()));
  Args none{};
  none.d_x = unused_x.data(), none.d_w = unused_w.data(), none.d_b = unused_b.data();
  Conv2dBwd::reference({whole, pictures.with_border(x.x, false).data(), x.w, x.d_y, d_x.data(), x.d_w, x.d_b},
                       none);
  pictures.collect(d_x.data(), x.d_x);
  Conv2dBwd::reference(
      {whole, pictures.with_border(x.x, true).data(), magnitudes_of(x.w, volume(s.w_dims())).data(),
       magnitudes_of(x.d_y, volume(s.y_dims())).data(), d_x.data(), magnitude.d_w, magnitude.d_b},
      none);
  pictures.collect(d_x.data(), magnitude.d_x);
}

}  // namespace

void Conv2dBwd::reference(const Args<double>& x, const Args<double>& magnitude) {
  const Conv2dShape& s = x.shape;
  if (s.border != 0) return with_border(x, magnitude);
  const int64_t channels = s.in_channels();
  conv2d::shared_out(s.n * channels, s.products(),
                     [&](int64_t i) { input_channel(x, magnitude.d_x, i / channels, i % channels); });
  conv2d::shared_out(s.out_channels(), s.products(), [&](int64_t to) { filter(x, magnitude, to); });
}

}  // namespace klab
