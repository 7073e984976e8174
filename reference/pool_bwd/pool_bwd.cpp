#include "reference/pool_bwd/pool_bwd.h"

#include <cmath>

#include "reference/pad2d_fwd/around.h"

namespace klab {
namespace {

using Args = PoolBwd::Args<double>;

/// Where the largest pixel of a window lies: the first in row-major order.
int64_t largest_of(const PoolShape& s, const double* x, int64_t image, int64_t channel, PoolShape::Range rows,
                   PoolShape::Range columns) {
  int64_t largest = s.x_at(image, channel, rows.begin, columns.begin);
  for (int64_t p = rows.begin; p < rows.end; ++p)
    for (int64_t q = columns.begin; q < columns.end; ++q)
      if (const int64_t at = s.x_at(image, channel, p, q); x[at] > x[largest]) largest = at;
  return largest;
}

/// One window's gradient, sent back.
void send(const Args& x, double* magnitude, int64_t image, int64_t channel, int64_t i, int64_t j) {
  const PoolShape& s = x.shape;
  const PoolShape::Range rows = s.rows(i), columns = s.columns(j);
  const double d_y = x.d_y[s.y_at(image, channel, i, j)];
  if (s.is_max()) {
    const int64_t at = largest_of(s, x.x, image, channel, rows, columns);
    x.d_x[at] += d_y;
    magnitude[at] += std::abs(d_y);
    return;
  }
  const double share = d_y / double(s.divisor(rows, columns));
  for (int64_t p = rows.begin; p < rows.end; ++p)
    for (int64_t q = columns.begin; q < columns.end; ++q) {
      x.d_x[s.x_at(image, channel, p, q)] += share;
      magnitude[s.x_at(image, channel, p, q)] += std::abs(share);
    }
}

/// A mean is rounded. Where it is as large as the largest pixel of its window within that, either may win: allows for the whole
/// gradient at both.
void allow_either(const PoolShape& s, const PadShape& pad, const double* x, const double* sizes,
                  const double* d_y, double* magnitude) {
  const double rounded = std::ldexp(double(pad.h * pad.w + 2), -23), whole_gradient = 0x1p24;
  for (int64_t image = 0; image < s.n; ++image)
    for (int64_t channel = 0; channel < s.c; ++channel)
      for (int64_t i = 0; i < s.oh(); ++i)
        for (int64_t j = 0; j < s.ow(); ++j) {
          int64_t pixel = -1, beyond = -1;  // the first that is largest, and the first of the border
          for (int64_t p = s.rows(i).begin; p < s.rows(i).end; ++p)
            for (int64_t q = s.columns(j).begin; q < s.columns(j).end; ++q) {
              const int64_t at = s.x_at(image, channel, p, q);
              int64_t& first = pad.inside(p - pad.pad_y, q - pad.pad_x) ? pixel : beyond;
              if (first < 0 || (&first == &pixel && x[at] > x[pixel])) first = at;
            }
          if (pixel < 0 || beyond < 0 || std::abs(x[pixel] - x[beyond]) > rounded * sizes[beyond]) continue;
          const double d = whole_gradient * std::abs(d_y[s.y_at(image, channel, i, j)]);
          magnitude[pixel] += d;
          magnitude[beyond] += d;
        }
}

/// Gradients of the pictures with their border, collected. Magnitudes are the results for magnitudes of d_y.
void with_border(const Args& x, const Args& magnitude) {
  const PoolShape &s = x.shape, whole = s.bordered();
  const Pictures pictures{s.pad(), s.c, bool(s.nhwc)};
  const std::vector<double> values = pictures.with_border(x.x, false);
  std::vector<double> d_x(values.size()), sizes(values.size());
  PoolBwd::reference({whole, values.data(), x.d_y, d_x.data()}, {whole, nullptr, nullptr, sizes.data()});
  if (s.is_max() && s.border == PadShape::mean)
    allow_either(whole, s.pad(), values.data(), pictures.with_border(x.x, true).data(), x.d_y, sizes.data());
  pictures.collect(d_x.data(), x.d_x);
  pictures.collect(sizes.data(), magnitude.d_x);
}

}  // namespace

void PoolBwd::reference(const Args<double>& x, const Args<double>& magnitude) {
  const PoolShape& s = x.shape;
  if (s.border != 0) return with_border(x, magnitude);
  std::fill_n(x.d_x, volume(s.x_dims()), 0.0);
  std::fill_n(magnitude.d_x, volume(s.x_dims()), 0.0);
  for (int64_t image = 0; image < s.n; ++image)
    for (int64_t channel = 0; channel < s.c; ++channel)
      for (int64_t i = 0; i < s.oh(); ++i)
        for (int64_t j = 0; j < s.ow(); ++j) send(x, magnitude.d_x, image, channel, i, j);
}

}  // namespace klab
