// softmax_xent_fwd.cpu.71_eight_threads: names its own number of threads.
// Class: threads. Must be caught as Fault::threads.
#include <algorithm>
#include <cmath>

#include "reference/softmax_xent_fwd/softmax_xent_fwd.h"
#include "tests/mutants/mutant.h"

namespace klab {
namespace {

void right(const SoftmaxXentFwd::Args<float>& x) {
  const auto [n, c] = x.shape;
  for (int64_t i = 0; i < n; ++i) {
    const float* row = x.logits + i * c;
    const float largest = *std::max_element(row, row + c);
    float sum = 0;
    for (int64_t j = 0; j < c; ++j) sum += std::exp(row[j] - largest);
    x.loss[i] = std::log(sum) + (largest - row[x.labels[i]]);
  }
}

void run(const SoftmaxXentFwd::Args<float>& x) {
#pragma omp parallel num_threads(8)
  {
#pragma omp single
    right(x);
  }
}

KLAB_MUTANT(SoftmaxXentFwd, Fault::threads, {.run = run});

}  // namespace
}  // namespace klab
