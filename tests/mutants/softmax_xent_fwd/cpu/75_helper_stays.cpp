// softmax_xent_fwd.cpu.75_helper_stays: has a helper that waits for the next call.
// Class: after return. Must be caught as Fault::late.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <thread>

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
  static const bool started = [] {
    std::thread([] {
      for (int i = 0; i < 200; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }).detach();
    return true;
  }();
  static_cast<void>(started);
  right(x);
}

KLAB_MUTANT(SoftmaxXentFwd, Fault::late, {.run = run});

}  // namespace
}  // namespace klab
