// probe_matmul.cpu.18_nan: normalizes by its own sum and back: 0/0 where that is zero.
// Must be caught as Fault::non_finite.
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
      x.c[i * n + j] = sum * (sum / sum);
    }
}

KLAB_MUTANT(ProbeMatmul, Fault::non_finite, {.run = run});

}  // namespace
}  // namespace klab
