// probe_matmul.cpu.12_tile_edge: forgets the last column where one is left over behind whole tiles of 24.
// Must be caught as Fault::not_written.
#include "tests/mutants/mutant.h"
#include "tests/mutants/probe_matmul/probe_matmul.h"

namespace klab {
namespace {

void run(const ProbeMatmul::Args<float>& x) {
  const auto [m, n, k] = x.shape;
  for (int64_t i = 0; i < m; ++i)
    for (int64_t j = 0; j < n - (n % 24 == 1); ++j) {
      float sum = 0;
      for (int64_t p = 0; p < k; ++p) sum += x.a[i * k + p] * x.b[p * n + j];
      x.c[i * n + j] = sum;
    }
}

KLAB_MUTANT(ProbeMatmul, Fault::not_written, {.run = run, .tiles = {24}});

}  // namespace
}  // namespace klab
