// matmul.cpu.52_half_when_long: rounds B to half precision where sums are long.
// Class: bounds. Must be caught as Fault::wrong_value.
#include <bit>
#include <cstdint>

#include "reference/matmul/matmul.h"
#include "tests/mutants/mutant.h"

namespace klab {
namespace {

/// Rounded to 11 bits, as half precision has.
float half(float v) {
  uint32_t bits = std::bit_cast<uint32_t>(v);
  bits = (bits + 0xFFF + (bits >> 13 & 1)) & 0xFFFFE000U;
  return std::bit_cast<float>(bits);
}

void run(const Matmul::Args<float>& x) {
  const auto [m, n, k] = x.shape;
  for (int64_t i = 0; i < m; ++i)
    for (int64_t j = 0; j < n; ++j) {
      float sum = 0;
      for (int64_t p = 0; p < k; ++p)
        sum += x.a[i * k + p] * (k > 200 ? half(x.b[p * n + j]) : x.b[p * n + j]);
      x.c[i * n + j] = sum;
    }
}

KLAB_MUTANT(Matmul, Fault::wrong_value, {.run = run});

}  // namespace
}  // namespace klab
