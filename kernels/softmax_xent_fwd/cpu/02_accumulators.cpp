// softmax_xent_fwd.cpu.02_accumulators: four running maxima and four sums.
//
// CHANGE    four chains in each loop: a comparison or addition need not wait for the one before it.
// EXPECT    the loop of the maximum up to four times; the loop of the sum little, because the exponential
//           is work and not waiting. A tenth to a third in all. Rows of ten classes: nothing.
// NUMERICS  four partial sums: fewer roundings in a row than the parent.
#include <algorithm>
#include <cmath>

#include "harness/core/registrar.h"
#include "reference/softmax_xent_fwd/softmax_xent_fwd.h"

namespace klab {
namespace {

void run(const SoftmaxXentFwd::Args<float>& x) {
  const auto [n, c] = x.shape;
  for (int64_t i = 0; i < n; ++i) {
    const float* row = x.logits + i * c;
    float m[4] = {row[0], row[0], row[0], row[0]};
    int64_t j = 0;
    for (; j + 4 <= c; j += 4)
      for (int k = 0; k < 4; ++k) m[k] = row[j + k] > m[k] ? row[j + k] : m[k];
    for (; j < c; ++j) m[0] = row[j] > m[0] ? row[j] : m[0];
    const float largest = std::max(std::max(m[0], m[1]), std::max(m[2], m[3]));
    float s[4] = {};
    for (j = 0; j + 4 <= c; j += 4)
      for (int k = 0; k < 4; ++k) s[k] += std::exp(row[j + k] - largest);
    for (; j < c; ++j) s[0] += std::exp(row[j] - largest);
    x.loss[i] = std::log((s[0] + s[1]) + (s[2] + s[3])) + (largest - row[x.labels[i]]);
  }
}

KLAB_VARIANT(SoftmaxXentFwd, {.run = run,
                              .parent = "01_naive",
                              .tiles = {4},
                              .expect = {.shape = {4096, 1000}, .over_parent = 1.1}});

}  // namespace
}  // namespace klab
