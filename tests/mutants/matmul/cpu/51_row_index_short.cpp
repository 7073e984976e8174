// matmul.cpu.51_row_index_short: keeps the index of a row in 16 bits.
// Class: sizes. Must be caught as Fault::wrong_value.
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
      for (int64_t p = 0; p < k; ++p) sum += x.a[int64_t(uint16_t(i)) * k + p] * x.b[p * n + j];
      x.c[i * n + j] = sum;
    }
}

KLAB_MUTANT(Matmul, Fault::wrong_value, {.run = run});

}  // namespace
}  // namespace klab
