// bias_add_fwd.cpu.01_naive: one number at a time, its channel found by division.
//
// CHANGE    the naive loop over all numbers.
// EXPECT    two integer divisions a number, of some ten to forty cycles each, where an addition is the whole work.
// NUMERICS  one rounding.
#include "harness/core/registrar.h"
#include "reference/bias_add_fwd/bias_add_fwd.h"

namespace klab {
namespace {

void run(const BiasAddFwd::Args<float>& x) {
  const auto [n, c, hw] = x.shape;
  for (int64_t i = 0; i < n * c * hw; ++i) x.y[i] = x.x[i] + x.bias[i / hw % c];
}

KLAB_VARIANT(BiasAddFwd, {.run = run});

}  // namespace
}  // namespace klab
