// matmul_fp8_tn.cpu.01_naive: three loops, each factor decoded where it is met.
//
// CHANGE    the definition.
// EXPECT    decoding binds, as in matmul_fp8.cpu.01_naive: two calls of the mathematical library for each product.
// NUMERICS  float sums of exact products, in order of p.
#include "harness/core/registrar.h"
#include "reference/formats.h"
#include "reference/matmul_fp8_tn/matmul_fp8_tn.h"

namespace klab {
namespace {

void run(const MatmulFp8Tn::Args<float>& x) {
  const auto [m, n, k] = x.shape;
  for (int64_t i = 0; i < m; ++i)
    for (int64_t j = 0; j < n; ++j) {
      float sum = 0;
      for (int64_t p = 0; p < k; ++p)
        sum += float(decode(kE4m3, x.a[i * k + p])) * float(decode(kE4m3, x.b[j * k + p]));
      x.c[i * n + j] = sum * x.scale[j];
    }
}

KLAB_VARIANT(MatmulFp8Tn, {.run = run});

}  // namespace
}  // namespace klab
