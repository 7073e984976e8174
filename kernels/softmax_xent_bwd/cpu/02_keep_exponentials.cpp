// softmax_xent_bwd.cpu.02_keep_exponentials: each exponential taken once.
//
// CHANGE    the loop of the sum leaves its exponentials where the gradients will be; the last loop only
//           scales them. One division per row, and the label's class is seen to after the loop.
// EXPECT    half the exponentials and none of c divisions: about twice the parent.
// NUMERICS  g/sum is rounded before it multiplies: one rounding more.
#include <cmath>

#include "harness/core/registrar.h"
#include "reference/softmax_xent_bwd/softmax_xent_bwd.h"

namespace klab {
namespace {

void run(const SoftmaxXentBwd::Args<float>& x) {
  const auto [n, c] = x.shape;
  for (int64_t i = 0; i < n; ++i) {
    const float *row = x.logits + i * c, g = x.d_loss[i];
    float* d = x.d_logits + i * c;
    const int64_t label = x.labels[i];
    float largest = row[0];
    for (int64_t j = 1; j < c; ++j) largest = row[j] > largest ? row[j] : largest;
    float sum = 0;
    for (int64_t j = 0; j < c; ++j) {
      d[j] = std::exp(row[j] - largest);
      sum += d[j];
    }
    x.loss[i] = std::log(sum) + (largest - row[label]);
    const float scale = g / sum;
    for (int64_t j = 0; j < c; ++j) d[j] *= scale;
    d[label] -= g;
  }
}

KLAB_VARIANT(SoftmaxXentBwd, {.run = run,
                              .parent = "01_naive",
                              .numerics = {.growth = Growth::linear},
                              .expect = {.shape = {4096, 1000}, .over_parent = 1.6}});

}  // namespace
}  // namespace klab
