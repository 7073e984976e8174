// matmul_int8_tn.cpu.01_naive: C[i,j] is the dot product of a row of A and a row of B.
//
// CHANGE    the definition, as three loops.
// EXPECT    both factors are read along their rows: a compiler makes vectors of the inner loop.
// NUMERICS  exact sums in 32 bits; a conversion and a product.
#include "harness/core/registrar.h"
#include "reference/matmul_int8_tn/matmul_int8_tn.h"

namespace klab {
namespace {

void run(const MatmulInt8Tn::Args<float>& x) {
  const auto [m, n, k] = x.shape;
  for (int64_t i = 0; i < m; ++i)
    for (int64_t j = 0; j < n; ++j) {
      int32_t sum = 0;
      for (int64_t p = 0; p < k; ++p) sum += int32_t(x.a[i * k + p]) * int32_t(x.b[j * k + p]);
      x.c[i * n + j] = float(sum) * x.scale[j];
    }
}

KLAB_VARIANT(MatmulInt8Tn, {.run = run});

}  // namespace
}  // namespace klab
