// probe_matmul.cpu.04_threads: right: rows on several threads.
#include "harness/core/registrar.h"
#include "tests/mutants/probe_matmul/probe_matmul.h"

namespace klab {
namespace {

void run(const ProbeMatmul::Args<float>& x) {
  const auto [m, n, k] = x.shape;
#pragma omp parallel for
  for (int64_t i = 0; i < m; ++i)
    for (int64_t j = 0; j < n; ++j) {
      float sum = 0;
      for (int64_t p = 0; p < k; ++p) sum += x.a[i * k + p] * x.b[p * n + j];
      x.c[i * n + j] = sum;
    }
}

KLAB_VARIANT(ProbeMatmul, {.run = run});

}  // namespace
}  // namespace klab
