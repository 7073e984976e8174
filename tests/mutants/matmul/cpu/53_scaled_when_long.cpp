// matmul.cpu.53_scaled_when_long: multiplies long sums by 1.0005.
// Class: bounds. Must be caught as Fault::wrong_value.

#include "reference/matmul/matmul.h"
#include "tests/mutants/mutant.h"

namespace klab {
namespace {

void run(const Matmul::Args<float>& x) {
  const auto [m, n, k] = x.shape;
  for (int64_t i = 0; i < m; ++i)
    for (int64_t j = 0; j < n; ++j) {
      float sum = 0;
      for (int64_t p = 0; p < k; ++p) sum += x.a[i * k + p] * x.b[p * n + j];
      x.c[i * n + j] = k > 200 ? sum * 1.0005F : sum;
    }
}

KLAB_MUTANT(Matmul, Fault::wrong_value, {.run = run});

}  // namespace
}  // namespace klab
