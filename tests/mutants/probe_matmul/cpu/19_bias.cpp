// probe_matmul.cpu.19_bias: is off by ten times the tolerance.
// Must be caught as Fault::wrong_value.
#include <cmath>

#include "tests/mutants/mutant.h"
#include "tests/mutants/probe_matmul/probe_matmul.h"

namespace klab {
namespace {

// 4·sqrt(k)·u·Σ|terms| is the bound for random inputs.
void run(const ProbeMatmul::Args<float>& x) {
  const auto [m, n, k] = x.shape;
  for (int64_t i = 0; i < m; ++i)
    for (int64_t j = 0; j < n; ++j) {
      float sum = 0, size = 0;
      for (int64_t p = 0; p < k; ++p) {
        sum += x.a[i * k + p] * x.b[p * n + j];
        size += std::abs(x.a[i * k + p] * x.b[p * n + j]);
      }
      x.c[i * n + j] = sum + 10 * 4 * std::sqrt(float(k)) * 0x1p-24F * size;
    }
}

KLAB_MUTANT(ProbeMatmul, Fault::wrong_value, {.run = run});

}  // namespace
}  // namespace klab
