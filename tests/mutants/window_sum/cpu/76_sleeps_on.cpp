// window_sum.cpu.76_sleeps_on: starts a thread that does nothing for a while.
// Class: after return. Must be caught as Fault::late.
#include <algorithm>
#include <chrono>
#include <thread>

#include "reference/window_sum/window_sum.h"
#include "tests/mutants/mutant.h"

namespace klab {
namespace {

void right(const WindowSum::Args<float>& x) {
  const auto [n, r] = x.shape;
  for (int64_t i = 0; i < n; ++i) {
    float sum = 0;
    for (int64_t j = std::max<int64_t>(0, i - r); j <= std::min(n - 1, i + r); ++j) sum += x.x[j];
    x.y[i] = sum;
  }
}

void run(const WindowSum::Args<float>& x) {
  right(x);
  std::thread([] { std::this_thread::sleep_for(std::chrono::milliseconds(30)); }).detach();
}

KLAB_MUTANT(WindowSum, Fault::late, {.run = run});

}  // namespace
}  // namespace klab
