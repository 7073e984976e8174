// matmul_bf16.cpu.70_bfloat16_sums: the sum is rounded to eight bits after every addition. Once it is 256 times a product, it
// stands still.
// Must be caught as Fault::wrong_value.
#include "reference/matmul_bf16/matmul_bf16.h"
#include "tests/mutants/mutant.h"

namespace klab {
namespace {

void run(const MatmulBf16::Args<float>& x) {
  const auto [m, n, k] = x.shape;
  for (int64_t i = 0; i < m; ++i)
    for (int64_t j = 0; j < n; ++j) {
      Bfloat16 sum{};
      for (int64_t p = 0; p < k; ++p)
        sum = to_bfloat16(float_from(sum) + float_from(x.a[i * k + p]) * float_from(x.b[p * n + j]));
      x.c[i * n + j] = float_from(sum);
    }
}

KLAB_MUTANT(MatmulBf16, Fault::wrong_value, {.run = run});

}  // namespace
}  // namespace klab
