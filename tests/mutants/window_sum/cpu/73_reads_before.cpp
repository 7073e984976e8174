// window_sum.cpu.73_reads_before: begins one element before the first, times nothing.
// Class: memory. Must be caught as Fault::out_of_bounds.
#include <algorithm>

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
  volatile float before = x.x[-1];
  static_cast<void>(before);
  right(x);
}

KLAB_MUTANT(WindowSum, Fault::out_of_bounds, {.run = run});

}  // namespace
}  // namespace klab
