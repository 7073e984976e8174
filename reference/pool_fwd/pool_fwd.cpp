#include "reference/pool_fwd/pool_fwd.h"

#include <cmath>

#include "reference/pad2d_fwd/around.h"

namespace klab {
namespace {

struct Reduced {
  double value, magnitude;
};

Reduced window(const PoolShape& s, const double* x, int64_t image, int64_t channel, PoolShape::Range rows,
               PoolShape::Range columns) {
  double sum = 0, sum_abs = 0, largest = x[s.x_at(image, channel, rows.begin, columns.begin)];
  for (int64_t p = rows.begin; p < rows.end; ++p)
    for (int64_t q = columns.begin; q < columns.end; ++q) {
      const double value = x[s.x_at(image, channel, p, q)];
      largest = value > largest ? value : largest;
      sum += value;
      sum_abs += std::abs(value);
    }
  if (s.is_max()) return {largest, std::abs(largest)};
  const auto by = double(s.divisor(rows, columns));
  return {sum / by, sum_abs / by};
}

/// Writes the border around the pictures, and reduces those. Magnitudes are the results for magnitudes.
void with_border(const PoolFwd::Args<double>& x, const PoolFwd::Args<double>& magnitude) {
  const PoolShape &s = x.shape, whole = s.bordered();
  const Pictures pictures{s.pad(), s.c, bool(s.nhwc)};
  std::vector<double> unused(size_t(volume(s.y_dims())));
  const PoolFwd::Args<double> none{.shape = whole, .x = {}, .y = unused.data()};
  PoolFwd::reference({whole, pictures.with_border(x.x, false).data(), x.y}, none);
  PoolFwd::reference({whole, pictures.with_border(x.x, true).data(), magnitude.y}, none);
}

}  // namespace

void PoolFwd::reference(const Args<double>& x, const Args<double>& magnitude) {
  const PoolShape& s = x.shape;
  if (s.border != 0) return with_border(x, magnitude);
  for (int64_t image = 0; image < s.n; ++image)
    for (int64_t channel = 0; channel < s.c; ++channel)
      for (int64_t i = 0; i < s.oh(); ++i)
        for (int64_t j = 0; j < s.ow(); ++j) {
          const Reduced reduced = window(s, x.x, image, channel, s.rows(i), s.columns(j));
          x.y[s.y_at(image, channel, i, j)] = reduced.value;
          magnitude.y[s.y_at(image, channel, i, j)] = reduced.magnitude;
        }
}

}  // namespace klab
