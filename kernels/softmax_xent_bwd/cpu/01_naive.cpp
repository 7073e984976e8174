// softmax_xent_bwd.cpu.01_naive: the forward, then every probability again.
//
// CHANGE    the naive loops: maximum, sum, gradient; the exponential of each logit is taken twice.
// EXPECT    twice the naive forward, whose time is almost all exponentials.
// NUMERICS  one float accumulator a row.
#include <cmath>

#include "harness/core/registrar.h"
#include "reference/softmax_xent_bwd/softmax_xent_bwd.h"

namespace klab {
namespace {

void run(const SoftmaxXentBwd::Args<float>& x) {
  const auto [n, c] = x.shape;
  for (int64_t i = 0; i < n; ++i) {
    const float* row = x.logits + i * c;
    float* d = x.d_logits + i * c;
    const int64_t label = x.labels[i];
    float largest = row[0];
    for (int64_t j = 1; j < c; ++j) largest = row[j] > largest ? row[j] : largest;
    float sum = 0;
    for (int64_t j = 0; j < c; ++j) sum += std::exp(row[j] - largest);
    x.loss[i] = std::log(sum) + (largest - row[label]);
    for (int64_t j = 0; j < c; ++j) {
      const float p = std::exp(row[j] - largest) / sum;
      d[j] = x.d_loss[i] * (j == label ? p - 1 : p);
    }
  }
}

KLAB_VARIANT(SoftmaxXentBwd, {.run = run, .numerics = {.growth = Growth::linear}});

}  // namespace
}  // namespace klab
