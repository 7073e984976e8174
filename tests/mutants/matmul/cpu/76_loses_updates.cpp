// matmul.cpu.76_loses_updates: declares that its runs differ, and adds without atomics where several threads do.
// Class: messages. Must be caught as Fault::wrong_value.
#include "reference/matmul/matmul.h"
#include "tests/mutants/mutant.h"

namespace klab {
namespace {

void run(const Matmul::Args<float>& x) {
  const auto [m, n, k] = x.shape;
  volatile float* c = x.c;
  for (int64_t i = 0; i < m * n; ++i) c[i] = 0;
#pragma omp parallel for schedule(static, 1)
  for (int64_t p = 0; p < k; ++p)
    for (int64_t i = 0; i < m; ++i)
      for (int64_t j = 0; j < n; ++j) {
        const float sum = c[i * n + j] + x.a[i * k + p] * x.b[p * n + j];
        c[i * n + j] = sum;
      }
}

KLAB_MUTANT(Matmul, Fault::wrong_value, {.run = run, .numerics = {.deterministic = false}});

}  // namespace
}  // namespace klab
