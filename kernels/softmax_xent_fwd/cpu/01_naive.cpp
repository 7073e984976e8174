// softmax_xent_fwd.cpu.01_naive: the largest logit, the sum, the loss, as the formula reads.
//
// CHANGE    the naive loops: one for the maximum, one for the sum of exponentials.
// EXPECT    each comparison waits for the one before, and each call of the exponential takes some ten times
//           as long as the rest of its iteration: far from the memory's bandwidth, even cold.
// NUMERICS  one float accumulator a row.
// TRIED     without taking the maximum out first: infinity from a logit of 89 on.
#include <cmath>

#include "harness/core/registrar.h"
#include "reference/softmax_xent_fwd/softmax_xent_fwd.h"

namespace klab {
namespace {

void run(const SoftmaxXentFwd::Args<float>& x) {
  const auto [n, c] = x.shape;
  for (int64_t i = 0; i < n; ++i) {
    const float* row = x.logits + i * c;
    float largest = row[0];
    for (int64_t j = 1; j < c; ++j) largest = row[j] > largest ? row[j] : largest;
    float sum = 0;
    for (int64_t j = 0; j < c; ++j) sum += std::exp(row[j] - largest);
    x.loss[i] = std::log(sum) + (largest - row[x.labels[i]]);
  }
}

// One long chain of positive terms: its roundings do not cancel as those of a random walk do.
KLAB_VARIANT(SoftmaxXentFwd, {.run = run, .numerics = {.growth = Growth::linear}});

}  // namespace
}  // namespace klab
