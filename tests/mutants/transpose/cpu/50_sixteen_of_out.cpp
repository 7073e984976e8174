// transpose.cpu.50_sixteen_of_out: assumes that arrays aligned to 16 bytes are aligned to 32.
// Class: alignment. Must be caught as Fault::wrong_value.
#include <cstdint>

#include "reference/transpose/transpose.h"
#include "tests/mutants/mutant.h"

namespace klab {
namespace {

void run(const Transpose::Args<float>& x) {
  const auto [m, n] = x.shape;
  const uintptr_t begin = reinterpret_cast<uintptr_t>(x.out) % 32;
  const int64_t late = begin == 16 ? 4 : 0;
  for (int64_t i = 0; i < m; ++i)
    for (int64_t j = 0; j < n; ++j) x.out[j * m + i] = x.in[i * n + j];
  for (int64_t i = 0; i < late && i < m * n; ++i) x.out[i] = 0;
}

KLAB_MUTANT(Transpose, Fault::wrong_value, {.run = run});

}  // namespace
}  // namespace klab
