// matmul.cpu.70_tile_edge: tiles of 16 columns; a last tile that is not whole begins one column late.
// Must be caught as Fault::not_written: the column it skips is never written.
#include "reference/matmul/matmul.h"

#include "tests/mutants/mutant.h"

namespace klab {
namespace {

void run(const Matmul::Args<float>& x) {
  const auto [m, n, k] = x.shape;
  for (int64_t tile = 0; tile < n; tile += 16)
    for (int64_t i = 0; i < m; ++i)
      for (int64_t j = tile + (tile + 16 > n && tile > 0); j < n && j < tile + 16; ++j) {
        float sum = 0;
        for (int64_t p = 0; p < k; ++p) sum += x.a[i * k + p] * x.b[p * n + j];
        x.c[i * n + j] = sum;
      }
}

KLAB_MUTANT(Matmul, Fault::not_written, {.run = run, .tiles = {16}});

}  // namespace
}  // namespace klab
