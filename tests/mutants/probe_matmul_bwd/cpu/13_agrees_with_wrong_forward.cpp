// probe_matmul_bwd.cpu.13_agrees_with_wrong_forward: the exact gradient of the scaled forward, which is
// itself wrong. Must be caught as Fault::wrong_value.
#include "tests/mutants/mutant.h"
#include "tests/mutants/probe_matmul/probe_matmul.h"

namespace klab {
namespace {

void run(const ProbeMatmulBwd::Args<float>& x) {
  const auto [m, n, k] = x.shape;
  for (int64_t i = 0; i < m; ++i)
    for (int64_t p = 0; p < k; ++p) {
      float sum = 0;
      for (int64_t j = 0; j < n; ++j) sum += x.d_c[i * n + j] * x.b[p * n + j];
      x.d_a[i * k + p] = sum * 1.00390625F;
    }
  for (int64_t p = 0; p < k; ++p)
    for (int64_t j = 0; j < n; ++j) {
      float sum = 0;
      for (int64_t i = 0; i < m; ++i) sum += x.a[i * k + p] * x.d_c[i * n + j];
      x.d_b[p * n + j] = sum * 1.00390625F;
    }
}

KLAB_MUTANT(ProbeMatmulBwd, Fault::wrong_value, {.run = run, .forward = "38_scaled"});

}  // namespace
}  // namespace klab
