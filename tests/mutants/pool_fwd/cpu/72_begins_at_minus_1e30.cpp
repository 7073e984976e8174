// pool_fwd.cpu.72_begins_at_minus_1e30: the search for a maximum begins at -1e30.
// Class: inputs. Must be caught as Fault::wrong_value.
#include "reference/pool_fwd/pool_fwd.h"
#include "tests/mutants/mutant.h"

namespace klab {
namespace {

float output(const PoolFwd::Args<float>& x, int64_t image, int64_t channel, int64_t i, int64_t j) {
  const PoolShape& s = x.shape;
  const PoolShape::Range rows = s.rows(i), columns = s.columns(j);
  float largest = -1e30F, sum = 0;
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
  for (int64_t image = 0; image < s.n; ++image)
    for (int64_t channel = 0; channel < s.c; ++channel)
      for (int64_t i = 0; i < s.oh(); ++i)
        for (int64_t j = 0; j < s.ow(); ++j)
          x.y[s.y_at(image, channel, i, j)] = output(x, image, channel, i, j);
}

KLAB_MUTANT(PoolFwd, Fault::wrong_value, {.run = run});

}  // namespace
}  // namespace klab
