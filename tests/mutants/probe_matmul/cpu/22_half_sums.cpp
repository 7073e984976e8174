// probe_matmul.cpu.22_half_sums: sums in 11 bits, as half precision does, and declares single.
// Must be caught as Fault::wrong_value.
#include "tests/mutants/mutant.h"
#include "tests/mutants/probe_matmul/probe_matmul.h"

namespace klab {
namespace {

// Rounds to 11 significant bits (Dekker's split).
float to_half(float v) {
  const float c = 8193.F * v;
  return c - (c - v);
}

void run(const ProbeMatmul::Args<float>& x) {
  const auto [m, n, k] = x.shape;
  for (int64_t i = 0; i < m; ++i)
    for (int64_t j = 0; j < n; ++j) {
      float sum = 0;
      for (int64_t p = 0; p < k; ++p) sum = to_half(sum + x.a[i * k + p] * x.b[p * n + j]);
      x.c[i * n + j] = sum;
    }
}

KLAB_MUTANT(ProbeMatmul, Fault::wrong_value, {.run = run});

}  // namespace
}  // namespace klab
