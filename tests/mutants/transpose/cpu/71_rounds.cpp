// transpose.cpu.71_rounds: carries every value through a scale and back, which rounds some of them.
// Must be caught as Fault::wrong_value: a transpose has no roundings.
#include "reference/transpose/transpose.h"
#include "tests/mutants/mutant.h"

namespace klab {
namespace {

void run(const Transpose::Args<float>& x) {
  const auto [m, n] = x.shape;
  for (int64_t i = 0; i < m; ++i)
    for (int64_t j = 0; j < n; ++j) x.out[j * m + i] = x.in[i * n + j] * (1 / 3.F) * 3.F;
}

KLAB_MUTANT(Transpose, Fault::wrong_value, {.run = run});

}  // namespace
}  // namespace klab
