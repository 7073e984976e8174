// transpose.cpu.74_divides_by_zero: divides by the number of whole tiles, of which there may be none.
// Class: messages. Must be caught as Fault::crashed.
#include "reference/transpose/transpose.h"
#include "tests/mutants/mutant.h"

namespace klab {
namespace {

void right(const Transpose::Args<float>& x) {
  const auto [m, n] = x.shape;
  for (int64_t i = 0; i < m; ++i)
    for (int64_t j = 0; j < n; ++j) x.out[j * m + i] = x.in[i * n + j];
}

void run(const Transpose::Args<float>& x) {
  const auto [m, n] = x.shape;
  volatile int64_t tiles = m / 8;
  if (m * n > 0 && 64 / tiles < 0) return;
  right(x);
}

KLAB_MUTANT(Transpose, Fault::crashed, {.run = run});

}  // namespace
}  // namespace klab
