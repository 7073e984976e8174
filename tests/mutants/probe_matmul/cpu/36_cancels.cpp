// probe_matmul.cpu.36_cancels: takes a product as a difference of squares.
// Must be caught as Fault::wrong_value.
#include "tests/mutants/mutant.h"
#include "tests/mutants/probe_matmul/probe_matmul.h"

namespace klab {
namespace {

void run(const ProbeMatmul::Args<float>& x) {
  const auto [m, n, k] = x.shape;
  for (int64_t i = 0; i < m; ++i)
    for (int64_t j = 0; j < n; ++j) {
      float sum = 0;
      for (int64_t p = 0; p < k; ++p) {
        const float a = x.a[i * k + p], b = x.b[p * n + j];
        sum += ((a + b) * (a + b) - (a - b) * (a - b)) / 4;
      }
      x.c[i * n + j] = sum;
    }
}

KLAB_MUTANT(ProbeMatmul, Fault::wrong_value, {.run = run});

}  // namespace
}  // namespace klab
