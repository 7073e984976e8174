// probe_matmul.cpu.29_second_block: writes, where it should add, from the second block of 64 products on.
// Must be caught as Fault::wrong_value.
#include "tests/mutants/mutant.h"
#include "tests/mutants/probe_matmul/probe_matmul.h"

namespace klab {
namespace {

void run(const ProbeMatmul::Args<float>& x) {
  const auto [m, n, k] = x.shape;
  for (int64_t i = 0; i < m; ++i)
    for (int64_t j = 0; j < n; ++j) {
      float sum = 0;
      for (int64_t block = 0; block < k; block += 64) {
        float part = 0;
        for (int64_t p = block; p < k && p < block + 64; ++p) part += x.a[i * k + p] * x.b[p * n + j];
        sum = part;
      }
      x.c[i * n + j] = sum;
    }
}

KLAB_MUTANT(ProbeMatmul, Fault::wrong_value, {.run = run, .tiles = {64}});

}  // namespace
}  // namespace klab
