// probe_matmul.cpu.33_flushes_denormals: treats denormal numbers as zero.
// Must be caught as Fault::wrong_value.
#include <cmath>

#include "tests/mutants/mutant.h"
#include "tests/mutants/probe_matmul/probe_matmul.h"

namespace klab {
namespace {

float flush(float v) { return std::abs(v) < 0x1p-126F ? 0.F : v; }

void run(const ProbeMatmul::Args<float>& x) {
  const auto [m, n, k] = x.shape;
  for (int64_t i = 0; i < m; ++i)
    for (int64_t j = 0; j < n; ++j) {
      float sum = 0;
      for (int64_t p = 0; p < k; ++p) sum += flush(x.a[i * k + p]) * flush(x.b[p * n + j]);
      x.c[i * n + j] = sum;
    }
}

KLAB_MUTANT(ProbeMatmul, Fault::wrong_value, {.run = run});

}  // namespace
}  // namespace klab
