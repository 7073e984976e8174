// probe_matmul.cpu.38_scaled: the forward of a network that believes in a factor of 1 + 2^-8.
// Must be caught as Fault::wrong_value.
#include "tests/mutants/mutant.h"
#include "tests/mutants/probe_matmul/probe_matmul.h"

namespace klab {
namespace {

void run(const ProbeMatmul::Args<float>& x) {
  const auto [m, n, k] = x.shape;
  for (int64_t i = 0; i < m; ++i)
    for (int64_t j = 0; j < n; ++j) {
      float sum = 0;
      for (int64_t p = 0; p < k; ++p) sum += x.a[i * k + p] * x.b[p * n + j];
      x.c[i * n + j] = sum * 1.00390625F;
    }
}

KLAB_MUTANT(ProbeMatmul, Fault::wrong_value, {.run = run});

}  // namespace
}  // namespace klab
