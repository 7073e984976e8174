#include "reference/pool_bwd/pool_bwd.h"

#include <cmath>

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

}  // namespace

void PoolBwd::reference(const Args<double>& x, const Args<double>& magnitude) {
  const PoolShape& s = x.shape;
  std::fill_n(x.d_x, volume(s.x_dims()), 0.0);
  std::fill_n(magnitude.d_x, volume(s.x_dims()), 0.0);
  for (int64_t image = 0; image < s.n; ++image)
    for (int64_t channel = 0; channel < s.c; ++channel)
      for (int64_t i = 0; i < s.oh(); ++i)
        for (int64_t j = 0; j < s.ow(); ++j) send(x, magnitude.d_x, image, channel, i, j);
}

}  // namespace klab
