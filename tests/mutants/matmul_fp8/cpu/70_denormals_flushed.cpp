// matmul_fp8.cpu.70_denormals_flushed: the exponent's bits are moved to their place in a float and 120 is
// added; that is right for all numbers but those whose exponent is 0. e4m3 has few powers of two, so that its
// denormals count.
// Must be caught as Fault::wrong_value.
#include <bit>

#include "reference/matmul_fp8/matmul_fp8.h"
#include "tests/mutants/mutant.h"

namespace klab {
namespace {

float value(uint8_t bits) {
  if ((bits & 0x78U) == 0) return 0;
  return std::bit_cast<float>(((uint32_t(bits & 0x7FU) << 20) + (120U << 23)) | uint32_t(bits & 0x80U) << 24);
}

void run(const MatmulFp8::Args<float>& x) {
  const auto [m, n, k] = x.shape;
  for (int64_t i = 0; i < m; ++i)
    for (int64_t j = 0; j < n; ++j) {
      float sum = 0;
      for (int64_t p = 0; p < k; ++p) sum += value(x.a[i * k + p]) * value(x.b[p * n + j]);
      x.c[i * n + j] = sum * x.scale[j];
    }
}

KLAB_MUTANT(MatmulFp8, Fault::wrong_value, {.run = run});

}  // namespace
}  // namespace klab
