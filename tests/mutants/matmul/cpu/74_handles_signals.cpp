// matmul.cpu.74_handles_signals: installs its own handler and blocks another signal.
// Class: state. Must be caught as Fault::state.
#include <csignal>

#include "reference/matmul/matmul.h"
#include "tests/mutants/mutant.h"

namespace klab {
namespace {

void right(const Matmul::Args<float>& x) {
  const auto [m, n, k] = x.shape;
  for (int64_t i = 0; i < m; ++i)
    for (int64_t j = 0; j < n; ++j) {
      float sum = 0;
      for (int64_t p = 0; p < k; ++p) sum += x.a[i * k + p] * x.b[p * n + j];
      x.c[i * n + j] = sum;
    }
}

void run(const Matmul::Args<float>& x) {
  right(x);
  std::signal(SIGUSR1, [](int) {});
}

KLAB_MUTANT(Matmul, Fault::state, {.run = run});

}  // namespace
}  // namespace klab
