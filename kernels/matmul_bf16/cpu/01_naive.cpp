// matmul_bf16.cpu.01_naive: C[i,j] is the dot product of a row of A and a column of B.
//
// CHANGE    the definition; each factor is made a float before it is multiplied.
// EXPECT    one chain of additions, and a cache line for each element of a column of B.
// NUMERICS  float accumulator; products are exact.
#include "harness/core/registrar.h"
#include "reference/matmul_bf16/matmul_bf16.h"

namespace klab {
namespace {

void run(const MatmulBf16::Args<float>& x) {
  const auto [m, n, k] = x.shape;
  for (int64_t i = 0; i < m; ++i)
    for (int64_t j = 0; j < n; ++j) {
      float sum = 0;
      for (int64_t p = 0; p < k; ++p) sum += float_from(x.a[i * k + p]) * float_from(x.b[p * n + j]);
      x.c[i * n + j] = sum;
    }
}

KLAB_VARIANT(MatmulBf16, {.run = run});

}  // namespace
}  // namespace klab
