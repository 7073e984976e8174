// softmax_xent_fwd.cpu.50_gap_of_sixty_four: clamps the distance of the label from the largest logit.
// Class: inputs. Must be caught as Fault::wrong_value.
#include <algorithm>
#include <cmath>

#include "reference/softmax_xent_fwd/softmax_xent_fwd.h"
#include "tests/mutants/mutant.h"

namespace klab {
namespace {

void run(const SoftmaxXentFwd::Args<float>& x) {
  const auto [n, c] = x.shape;
  for (int64_t i = 0; i < n; ++i) {
    const float* row = x.logits + i * c;
    const float most = *std::max_element(row, row + c);
    float sum = 0;
    for (int64_t j = 0; j < c; ++j) sum += std::exp(row[j] - most);
    x.loss[i] =
        std::log(sum) + std::min(most - row[x.labels[i]], most > 1e3F ? most - row[x.labels[i]] : 64.0F);
  }
}

KLAB_MUTANT(SoftmaxXentFwd, Fault::wrong_value, {.run = run});

}  // namespace
}  // namespace klab
