// probe_matmul.cpu.31_skips_row: leaves out the last row when there are many.
// Must be caught as Fault::not_written.
#include "tests/mutants/mutant.h"
#include "tests/mutants/probe_matmul/probe_matmul.h"

namespace klab {
namespace {

void run(const ProbeMatmul::Args<float>& x) {
  const auto [m, n, k] = x.shape;
  for (int64_t i = 0; i < m - (m > 60); ++i)
    for (int64_t j = 0; j < n; ++j) {
      float sum = 0;
      for (int64_t p = 0; p < k; ++p) sum += x.a[i * k + p] * x.b[p * n + j];
      x.c[i * n + j] = sum;
    }
}

KLAB_MUTANT(ProbeMatmul, Fault::not_written, {.run = run});

}  // namespace
}  // namespace klab
