// probe_matmul.cpu.05_drifting: right: another order of summation at every call, and declared so.
#include "harness/core/registrar.h"
#include "tests/mutants/probe_matmul/probe_matmul.h"

namespace klab {
namespace {

int calls = 0;

void run(const ProbeMatmul::Args<float>& x) {
  const auto [m, n, k] = x.shape;
  ++calls;
  for (int64_t i = 0; i < m; ++i)
    for (int64_t j = 0; j < n; ++j) {
      float sum = 0;
      for (int64_t q = 0; q < k; ++q) {
        const int64_t p = (q + calls) % k;
        sum += x.a[i * k + p] * x.b[p * n + j];
      }
      x.c[i * n + j] = sum;
    }
}

KLAB_VARIANT(ProbeMatmul, {.run = run, .numerics = {.deterministic = false}});

}  // namespace
}  // namespace klab
