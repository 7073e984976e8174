// pool_fwd.cpu.01_naive: each output reads all pixels of its window.
//
// CHANGE    the definition: for every output two loops over the part of the window inside the image.
// EXPECT    one comparison or addition at a time, each waiting for the last, and an index computed for each.
// NUMERICS  a maximum is exact; an average sums in float along rows, then divides.
// NEEDS     nothing; both layouts. A border: a copy of the pictures with it.
#include "harness/core/registrar.h"
#include "kernels/common/pad/layers.h"
#include "reference/pool_fwd/pool_fwd.h"

namespace klab {
namespace {

float output(const PoolFwd::Args<float>& x, int64_t image, int64_t channel, int64_t i, int64_t j) {
  const PoolShape& s = x.shape;
  const PoolShape::Range rows = s.rows(i), columns = s.columns(j);
  float largest = x.x[s.x_at(image, channel, rows.begin, columns.begin)], sum = 0;
  for (int64_t p = rows.begin; p < rows.end; ++p)
    for (int64_t q = columns.begin; q < columns.end; ++q) {
      const float value = x.x[s.x_at(image, channel, p, q)];
      largest = value > largest ? value : largest;
      sum += value;
    }
  return s.is_max() ? largest : sum / float(s.divisor(rows, columns));
}

void run(const PoolFwd::Args<float>& x) {
  const PoolShape& s = x.shape;
  if (s.border != 0) return pad::forward(x, s.c, run);
  for (int64_t image = 0; image < s.n; ++image)
    for (int64_t channel = 0; channel < s.c; ++channel)
      for (int64_t i = 0; i < s.oh(); ++i)
        for (int64_t j = 0; j < s.ow(); ++j)
          x.y[s.y_at(image, channel, i, j)] = output(x, image, channel, i, j);
}

KLAB_VARIANT(PoolFwd, {.run = run, .needs = {"border"}});

}  // namespace
}  // namespace klab
