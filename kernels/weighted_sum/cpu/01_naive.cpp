// weighted_sum.cpu.01_naive: one running sum in double.
//
// CHANGE   the naive loop.
// EXPECT   a chain of additions, four cycles each.
// NUMERICS products and sum in double.
#include "harness/core/registrar.h"
#include "reference/weighted_sum/weighted_sum.h"

namespace klab {
namespace {

void run(const WeightedSum::Args<float>& x) {
  double sum = 0;
  for (int64_t i = 0; i < x.shape.n; ++i) sum += double(x.weight[i]) * double(x.value[i]);
  *x.sum += float(sum);
}

KLAB_VARIANT(WeightedSum, {.run = run});

}  // namespace
}  // namespace klab
