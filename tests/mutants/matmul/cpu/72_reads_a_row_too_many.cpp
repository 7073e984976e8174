// matmul.cpu.72_reads_a_row_too_many: prefetches the next row of a by reading it, the last one's, too.
// Class: memory. Must be caught as Fault::out_of_bounds.
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
  if (x.shape.m == 0 || x.shape.k == 0) return;
  volatile float ahead = x.a[x.shape.m * x.shape.k];
  static_cast<void>(ahead);
}

KLAB_MUTANT(Matmul, Fault::out_of_bounds, {.run = run});

}  // namespace
}  // namespace klab
