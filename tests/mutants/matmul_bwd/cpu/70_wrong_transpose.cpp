// matmul_bwd.cpu.70_wrong_transpose: d_b takes A as if it were stored by columns; right where m = k = 1.
// Must be caught as Fault::wrong_value.
#include "reference/matmul_bwd/matmul_bwd.h"

#include "tests/mutants/mutant.h"

namespace klab {
namespace {

void run(const MatmulBwd::Args<float>& x) {
  const auto [m, n, k] = x.shape;
  for (int64_t i = 0; i < m; ++i)
    for (int64_t p = 0; p < k; ++p) {
      float sum = 0;
      for (int64_t j = 0; j < n; ++j) sum += x.d_c[i * n + j] * x.b[p * n + j];
      x.d_a[i * k + p] = sum;
    }
  for (int64_t p = 0; p < k; ++p)
    for (int64_t j = 0; j < n; ++j) {
      float sum = 0;
      for (int64_t i = 0; i < m; ++i) sum += x.a[p * m + i] * x.d_c[i * n + j];
      x.d_b[p * n + j] = sum;
    }
}

KLAB_MUTANT(MatmulBwd, Fault::wrong_value, {.run = run});

}  // namespace
}  // namespace klab
