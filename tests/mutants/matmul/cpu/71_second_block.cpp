// matmul.cpu.71_second_block: blocks of 256 products, of which each writes its sum where it should add it.
// Must be caught as Fault::wrong_value; right for every k up to 256.
#include "reference/matmul/matmul.h"

#include "tests/mutants/mutant.h"

namespace klab {
namespace {

void run(const Matmul::Args<float>& x) {
  const auto [m, n, k] = x.shape;
  for (int64_t i = 0; i < m; ++i)
    for (int64_t j = 0; j < n; ++j) {
      x.c[i * n + j] = 0;
      for (int64_t block = 0; block < k; block += 256) {
        float sum = 0;
        for (int64_t p = block; p < k && p < block + 256; ++p) sum += x.a[i * k + p] * x.b[p * n + j];
        x.c[i * n + j] = sum;
      }
    }
}

KLAB_MUTANT(Matmul, Fault::wrong_value, {.run = run, .tiles = {256}});

}  // namespace
}  // namespace klab
