// window_sum.cpu.74_environment: asks OpenMP for threads that do not spin, through the process's environment.
// Class: state. Must be caught as Fault::state.
#include <algorithm>
#include <cstdlib>

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
  setenv("OMP_WAIT_POLICY", "klab was here", 1);
}

KLAB_MUTANT(WindowSum, Fault::state, {.run = run});

}  // namespace
}  // namespace klab
