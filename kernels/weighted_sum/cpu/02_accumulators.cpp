// weighted_sum.cpu.02_accumulators: eight running sums.
//
// CHANGE   eight sums that do not wait for each other; the compiler puts them into vectors.
// EXPECT   several times faster: 8 bytes an entry instead of four cycles.
// NUMERICS products and sums in double.
#include "harness/core/registrar.h"
#include "reference/weighted_sum/weighted_sum.h"

namespace klab {
namespace {

constexpr int64_t kSums = 8;

void run(const WeightedSum::Args<float>& x) {
  double sums[kSums] = {};
  int64_t i = 0;
  for (; i + kSums <= x.shape.n; i += kSums)
    for (int64_t k = 0; k < kSums; ++k) sums[k] += double(x.weight[i + k]) * double(x.value[i + k]);
  for (int64_t k = 0; i < x.shape.n; ++i, ++k) sums[k] += double(x.weight[i]) * double(x.value[i]);
  double sum = 0;
  for (const double s : sums) sum += s;
  *x.sum += float(sum);
}

KLAB_VARIANT(WeightedSum, {.run = run, .parent = "01_naive", .tiles = {kSums}});

}  // namespace
}  // namespace klab
