// softmax_xent_bwd.cpu.70_rounded_sum: probabilities as exp(x - lse), lse = m + log sum rounded next to a
// large m.
// Must be caught as Fault::wrong_value.
#include <algorithm>
#include <cmath>

#include "reference/softmax_xent_bwd/softmax_xent_bwd.h"
#include "tests/mutants/mutant.h"

namespace klab {
namespace {

void run(const SoftmaxXentBwd::Args<float>& x) {
  const auto [n, c] = x.shape;
  for (int64_t i = 0; i < n; ++i) {
    const float* row = x.logits + i * c;
    const float largest = *std::max_element(row, row + c);
    float sum = 0;
    for (int64_t j = 0; j < c; ++j) sum += std::exp(row[j] - largest);
    const float all = largest + std::log(sum);
    x.loss[i] = std::log(sum) + (largest - row[x.labels[i]]);
    for (int64_t j = 0; j < c; ++j) {
      const float p = std::exp(row[j] - all);
      x.d_logits[i * c + j] = x.d_loss[i] * (j == x.labels[i] ? p - 1 : p);
    }
  }
}

KLAB_MUTANT(SoftmaxXentBwd, Fault::wrong_value, {.run = run});

}  // namespace
}  // namespace klab
