// probe_matmul.cpu.20_stale: remembers for which pointers it has the answer.
// Must be caught as Fault::stale.
#include "tests/mutants/mutant.h"
#include "tests/mutants/probe_matmul/probe_matmul.h"

namespace klab {
namespace {

const float* last = nullptr;

void run(const ProbeMatmul::Args<float>& x) {
  const auto [m, n, k] = x.shape;
  if (x.a == last && m * n > 0) return;
  last = x.a;
  for (int64_t i = 0; i < m; ++i)
    for (int64_t j = 0; j < n; ++j) {
      float sum = 0;
      for (int64_t p = 0; p < k; ++p) sum += x.a[i * k + p] * x.b[p * n + j];
      x.c[i * n + j] = sum;
    }
}

KLAB_MUTANT(ProbeMatmul, Fault::stale, {.run = run});

}  // namespace
}  // namespace klab
