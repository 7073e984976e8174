// softmax_xent_fwd.cpu.76_null_pointer: follows a null pointer where there is one class.
// Class: messages. Must be caught as Fault::crashed.
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
  if (x.shape.c == 1 && x.shape.n > 0) {
    static float* volatile nowhere = nullptr;
    *nowhere = 1;
  }
  right(x);
}

KLAB_MUTANT(SoftmaxXentFwd, Fault::crashed, {.run = run});

}  // namespace
}  // namespace klab
