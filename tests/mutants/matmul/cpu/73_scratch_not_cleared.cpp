// matmul.cpu.73_scratch_not_cleared: adds into scratch memory that it takes for zeros.
// Class: memory. Must be caught as Fault::wrong_value.
#include <cstdlib>

#include "reference/matmul/matmul.h"
#include "tests/mutants/mutant.h"

namespace klab {
namespace {

void run(const Matmul::Args<float>& x) {
  const auto [m, n, k] = x.shape;
  if (m * n == 0) return;
  auto* sums = static_cast<float*>(std::malloc(size_t(m * n) * sizeof(float) + 4096));
  for (int64_t i = 0; i < m; ++i)
    for (int64_t p = 0; p < k; ++p)
      for (int64_t j = 0; j < n; ++j) sums[i * n + j] += x.a[i * k + p] * x.b[p * n + j];
  for (int64_t i = 0; i < m * n; ++i) x.c[i] = sums[i];
  std::free(sums);
}

KLAB_MUTANT(Matmul, Fault::wrong_value, {.run = run});

}  // namespace
}  // namespace klab
