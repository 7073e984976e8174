// probe_matmul.cpu.23_bfloat_inputs: rounds its inputs to 8 bits, as bfloat16 does, sums in single and
// declares single. Must be caught as Fault::wrong_value.
#include <bit>

#include "tests/mutants/mutant.h"
#include "tests/mutants/probe_matmul/probe_matmul.h"

namespace klab {
namespace {

float to_bfloat(float v) {
  return std::bit_cast<float>((std::bit_cast<uint32_t>(v) + 0x8000U) & 0xFFFF0000U);
}

void run(const ProbeMatmul::Args<float>& x) {
  const auto [m, n, k] = x.shape;
  for (int64_t i = 0; i < m; ++i)
    for (int64_t j = 0; j < n; ++j) {
      float sum = 0;
      for (int64_t p = 0; p < k; ++p) sum += to_bfloat(x.a[i * k + p]) * to_bfloat(x.b[p * n + j]);
      x.c[i * n + j] = sum;
    }
}

KLAB_MUTANT(ProbeMatmul, Fault::wrong_value, {.run = run});

}  // namespace
}  // namespace klab
