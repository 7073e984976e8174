// probe_matmul_bwd.cpu.01_naive: right: both products, three loops each.
#include "harness/core/registrar.h"
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

KLAB_VARIANT(ProbeMatmulBwd, {.run = run});

}  // namespace
}  // namespace klab
