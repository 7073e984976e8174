// softmax_xent_fwd.cpu.72_shifts_its_logits: takes the largest out of each row in place, and puts it back.
// Class: memory. Must be caught as Fault::input_changed.
#include <algorithm>
#include <cmath>
#include <vector>

#include "reference/softmax_xent_fwd/softmax_xent_fwd.h"
#include "tests/mutants/mutant.h"

namespace klab {
namespace {

void run(const SoftmaxXentFwd::Args<float>& x) {
  const auto [n, c] = x.shape;
  for (int64_t i = 0; i < n; ++i) {
    auto* row = const_cast<float*>(x.logits) + i * c;
    const std::vector<float> kept(row, row + c);
    const float largest = *std::max_element(row, row + c);
    for (int64_t j = 0; j < c; ++j) row[j] -= largest;
    float sum = 0;
    for (int64_t j = 0; j < c; ++j) sum += std::exp(row[j]);
    x.loss[i] = std::log(sum) - row[x.labels[i]];
    std::copy(kept.begin(), kept.end(), row);
  }
}

KLAB_MUTANT(SoftmaxXentFwd, Fault::input_changed, {.run = run});

}  // namespace
}  // namespace klab
