// softmax_xent_bwd.cpu.51_gradient_times_1001: a gradient that is 1.001 times what it should be.
// Class: bounds. Must be caught as Fault::wrong_value.
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
    const float most = *std::max_element(row, row + c);
    float sum = 0;
    for (int64_t j = 0; j < c; ++j) sum += std::exp(row[j] - most);
    x.loss[i] = std::log(sum) + (most - row[x.labels[i]]);
    for (int64_t j = 0; j < c; ++j) {
      const float p = std::exp(row[j] - most) / sum;
      x.d_logits[i * c + j] = x.d_loss[i] * (p - (j == x.labels[i] ? 1.0F : 0.0F)) * 1.001F;
    }
  }
}

KLAB_MUTANT(SoftmaxXentBwd, Fault::wrong_value, {.run = run});

}  // namespace
}  // namespace klab
