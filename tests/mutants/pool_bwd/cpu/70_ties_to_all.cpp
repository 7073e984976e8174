// pool_bwd.cpu.70_ties_to_all: each of several largest pixels gets the whole gradient.
// Must be caught as Fault::wrong_value; right where one pixel is largest.
#include <algorithm>

#include "reference/pool_bwd/pool_bwd.h"
#include "tests/mutants/mutant.h"

namespace klab {
namespace {

void send(const PoolBwd::Args<float>& x, int64_t image, int64_t channel, int64_t i, int64_t j) {
  const PoolShape& s = x.shape;
  const PoolShape::Range rows = s.rows(i), columns = s.columns(j);
  const float d_y = x.d_y[s.y_at(image, channel, i, j)];
  const auto each = [&](auto&& visit) {
    for (int64_t p = rows.begin; p < rows.end; ++p)
      for (int64_t q = columns.begin; q < columns.end; ++q) visit(s.x_at(image, channel, p, q));
  };
  if (!s.is_max()) {
    each([&](int64_t at) { x.d_x[at] += d_y / float(s.divisor(rows, columns)); });
    return;
  }
  float largest = x.x[s.x_at(image, channel, rows.begin, columns.begin)];
  each([&](int64_t at) { largest = std::max(largest, x.x[at]); });
  each([&](int64_t at) { x.d_x[at] += x.x[at] == largest ? d_y : 0.0F; });
}

void run(const PoolBwd::Args<float>& x) {
  const PoolShape& s = x.shape;
  std::fill_n(x.d_x, volume(s.x_dims()), 0.0F);
  for (int64_t image = 0; image < s.n; ++image)
    for (int64_t channel = 0; channel < s.c; ++channel)
      for (int64_t i = 0; i < s.oh(); ++i)
        for (int64_t j = 0; j < s.ow(); ++j) send(x, image, channel, i, j);
}

KLAB_MUTANT(PoolBwd, Fault::wrong_value, {.run = run});

}  // namespace
}  // namespace klab
