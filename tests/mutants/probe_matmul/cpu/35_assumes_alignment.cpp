// probe_matmul.cpu.35_assumes_alignment: rounds the pointer of an input down to 16 bytes, as an aligned load
// would. Must be caught as Fault::non_finite.
#include "tests/mutants/mutant.h"
#include "tests/mutants/probe_matmul/probe_matmul.h"

namespace klab {
namespace {

void run(const ProbeMatmul::Args<float>& x) {
  const auto [m, n, k] = x.shape;
  const auto* b = reinterpret_cast<const float*>(reinterpret_cast<uintptr_t>(x.b) & ~uintptr_t{15});
  for (int64_t i = 0; i < m; ++i)
    for (int64_t j = 0; j < n; ++j) {
      float sum = 0;
      for (int64_t p = 0; p < k; ++p) sum += x.a[i * k + p] * b[p * n + j];
      x.c[i * n + j] = sum;
    }
}

KLAB_MUTANT(ProbeMatmul, Fault::non_finite, {.run = run});

}  // namespace
}  // namespace klab
