// transpose.cpu.70_edge: blocks of 32 whose right border is taken from the number of rows; right for square
// matrices.
// Must be caught as Fault::not_written: the columns beyond are never written.
#include <algorithm>

#include "reference/transpose/transpose.h"
#include "tests/mutants/mutant.h"

namespace klab {
namespace {

void run(const Transpose::Args<float>& x) {
  const auto [m, n] = x.shape;
  for (int64_t i = 0; i < m; ++i)
    for (int64_t block = 0; block < n; block += 32)
      for (int64_t j = block; j < std::min({block + 32, n, std::max<int64_t>(m, 32)}); ++j)
        x.out[j * m + i] = x.in[i * n + j];
}

KLAB_MUTANT(Transpose, Fault::not_written, {.run = run, .tiles = {32}});

}  // namespace
}  // namespace klab
