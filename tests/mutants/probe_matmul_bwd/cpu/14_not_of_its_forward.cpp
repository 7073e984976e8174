// probe_matmul_bwd.cpu.14_not_of_its_forward: the right gradient, but not that of the forward that it names.
// Must be caught as Fault::own_forward.
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
      x.d_a[i * k + p] = sum;
    }
  for (int64_t p = 0; p < k; ++p)
    for (int64_t j = 0; j < n; ++j) {
      float sum = 0;
      for (int64_t i = 0; i < m; ++i) sum += x.a[i * k + p] * x.d_c[i * n + j];
      x.d_b[p * n + j] = sum;
    }
}

KLAB_MUTANT(ProbeMatmulBwd, Fault::own_forward, {.run = run, .forward = "38_scaled"});

}  // namespace
}  // namespace klab
