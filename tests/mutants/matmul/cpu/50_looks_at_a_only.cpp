// matmul.cpu.50_looks_at_a_only: streams its result in whole lines when A begins on one.
// Class: alignment. Must be caught as Fault::wrong_value.
#include <cstdint>

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
      x.c[i * n + j] = sum;
    }
  const bool line = reinterpret_cast<uintptr_t>(x.a) % 64 == 0;
  if (line && reinterpret_cast<uintptr_t>(x.c) % 64 != 0 && m * n > 0 && k > 0) x.c[m * n - 1] += x.c[0] + 1;
}

KLAB_MUTANT(Matmul, Fault::wrong_value, {.run = run});

}  // namespace
}  // namespace klab
