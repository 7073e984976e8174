// pool_bwd.cpu.01_naive: each window sends its gradient back.
//
// CHANGE    the definition: d_x is zeroed; for every output the largest pixel of its window is found again
//           and gets d_y, or each pixel of the window gets its share.
// EXPECT    the forward's chain of comparisons, with an unpredictable branch; an addition through memory for
//           each.
// NUMERICS  float sums in d_x.
// NEEDS     nothing; both layouts. A border: copies of the pictures with it, and their gradients.
#include <algorithm>

#include "harness/core/registrar.h"
#include "kernels/common/pad/layers.h"
#include "reference/pool_bwd/pool_bwd.h"

namespace klab {
namespace {

int64_t largest_of(const PoolBwd::Args<float>& x, int64_t image, int64_t channel, PoolShape::Range rows,
                   PoolShape::Range columns) {
  const PoolShape& s = x.shape;
  int64_t largest = s.x_at(image, channel, rows.begin, columns.begin);
  for (int64_t p = rows.begin; p < rows.end; ++p)
    for (int64_t q = columns.begin; q < columns.end; ++q)
      if (const int64_t at = s.x_at(image, channel, p, q); x.x[at] > x.x[largest]) largest = at;
  return largest;
}

void send(const PoolBwd::Args<float>& x, int64_t image, int64_t channel, int64_t i, int64_t j) {
  const PoolShape& s = x.shape;
  const PoolShape::Range rows = s.rows(i), columns = s.columns(j);
  const float d_y = x.d_y[s.y_at(image, channel, i, j)];
  if (s.is_max()) {
    x.d_x[largest_of(x, image, channel, rows, columns)] += d_y;
    return;
  }
  const float share = d_y / float(s.divisor(rows, columns));
  for (int64_t p = rows.begin; p < rows.end; ++p)
    for (int64_t q = columns.begin; q < columns.end; ++q) x.d_x[s.x_at(image, channel, p, q)] += share;
}

void run(const PoolBwd::Args<float>& x) {
  const PoolShape& s = x.shape;
  if (s.border != 0) return pad::backward(x, s.c, run);
  std::fill_n(x.d_x, volume(s.x_dims()), 0.0F);
  for (int64_t image = 0; image < s.n; ++image)
    for (int64_t channel = 0; channel < s.c; ++channel)
      for (int64_t i = 0; i < s.oh(); ++i)
        for (int64_t j = 0; j < s.ow(); ++j) send(x, image, channel, i, j);
}

KLAB_VARIANT(PoolBwd, {.run = run, .needs = {"border"}});

}  // namespace
}  // namespace klab
