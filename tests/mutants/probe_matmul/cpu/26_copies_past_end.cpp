// probe_matmul.cpu.26_copies_past_end: copies the bytes behind an input to those behind the output.
// Must be caught as Fault::out_of_bounds.
#include "tests/mutants/mutant.h"
#include "tests/mutants/probe_matmul/probe_matmul.h"

namespace klab {
namespace {

void run(const ProbeMatmul::Args<float>& x) {
  const auto [m, n, k] = x.shape;
  x.c[m * n] = x.b[k * n];
  for (int64_t i = 0; i < m; ++i)
    for (int64_t j = 0; j < n; ++j) {
      float sum = 0;
      for (int64_t p = 0; p < k; ++p) sum += x.a[i * k + p] * x.b[p * n + j];
      x.c[i * n + j] = sum;
    }
}

KLAB_MUTANT(ProbeMatmul, Fault::out_of_bounds, {.run = run});

}  // namespace
}  // namespace klab
