// vector_add.cpu.50_on_sixteen: takes an address on 16 bytes for one on 32, and rounds it down.
// Class: alignment. Must be caught as Fault::wrong_value.
#include <cstdint>

#include "reference/vector_add/vector_add.h"
#include "tests/mutants/mutant.h"

namespace klab {
namespace {

void run(const VectorAdd::Args<float>& x) {
  // Reads as a load that ignores the lowest bits of an address.
  const bool vectors =
      reinterpret_cast<uintptr_t>(x.a) % 16 == 0 && reinterpret_cast<uintptr_t>(x.a) % 32 != 0;
  for (int64_t i = 0; i < x.shape.n; ++i) x.c[i] = x.a[vectors && i >= 4 ? i - 4 : i] + x.b[i];
}

KLAB_MUTANT(VectorAdd, Fault::wrong_value, {.run = run});

}  // namespace
}  // namespace klab
