// vector_add.cpu.70_one_pointer: tests one pointer's alignment and takes the others' for granted.
// Must be caught as Fault::non_finite: the bytes before b are NaN.
#include <cstdint>

#include "reference/vector_add/vector_add.h"
#include "tests/mutants/mutant.h"

namespace klab {
namespace {

/// Aligns as a load that ignores the lowest bits of an address.
const float* aligned(const float* p) {
  return reinterpret_cast<const float*>(reinterpret_cast<uintptr_t>(p) & ~uintptr_t(15));
}

void run(const VectorAdd::Args<float>& x) {
  const bool vectors = reinterpret_cast<uintptr_t>(x.a) % 16 == 0;
  const float* b = vectors && x.shape.n >= 4 ? aligned(x.b) : x.b;
  for (int64_t i = 0; i < x.shape.n; ++i) x.c[i] = x.a[i] + b[i];
}

KLAB_MUTANT(VectorAdd, Fault::non_finite, {.run = run});

}  // namespace
}  // namespace klab
