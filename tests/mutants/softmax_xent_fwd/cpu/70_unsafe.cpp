// softmax_xent_fwd.cpu.70_unsafe: the largest logit is not taken out; right while all logits are small.
// Must be caught as Fault::non_finite.
#include <cmath>

#include "reference/softmax_xent_fwd/softmax_xent_fwd.h"
#include "tests/mutants/mutant.h"

namespace klab {
namespace {

void run(const SoftmaxXentFwd::Args<float>& x) {
  const auto [n, c] = x.shape;
  for (int64_t i = 0; i < n; ++i) {
    const float* row = x.logits + i * c;
    float sum = 0;
    for (int64_t j = 0; j < c; ++j) sum += std::exp(row[j]);
    x.loss[i] = std::log(sum) - row[x.labels[i]];
  }
}

KLAB_MUTANT(SoftmaxXentFwd, Fault::non_finite, {.run = run});

}  // namespace
}  // namespace klab
