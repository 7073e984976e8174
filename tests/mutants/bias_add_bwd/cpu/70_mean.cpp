// bias_add_bwd.cpu.70_mean: the mean over the examples, not the sum; right for one.
// Must be caught as Fault::wrong_value.
#include "reference/bias_add_bwd/bias_add_bwd.h"
#include "tests/mutants/mutant.h"

namespace klab {
namespace {

void run(const BiasAddBwd::Args<float>& x) {
  const auto [n, c, hw] = x.shape;
  for (int64_t j = 0; j < c; ++j) {
    float sum = 0;
    for (int64_t i = 0; i < n; ++i)
      for (int64_t k = 0; k < hw; ++k) sum += x.d_y[(i * c + j) * hw + k];
    x.d_bias[j] = n > 0 ? sum / float(n) : 0;
  }
}

KLAB_MUTANT(BiasAddBwd, Fault::wrong_value, {.run = run});

}  // namespace
}  // namespace klab
