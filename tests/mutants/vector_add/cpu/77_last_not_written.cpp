// vector_add.cpu.77_last_not_written: skips the last element of odd sizes.
// Class: messages. Must be caught as Fault::not_written.
#include "reference/vector_add/vector_add.h"
#include "tests/mutants/mutant.h"

namespace klab {
namespace {

void run(const VectorAdd::Args<float>& x) {
  const int64_t n = x.shape.n - x.shape.n % 2;
  for (int64_t i = 0; i < n; ++i) x.c[i] = x.a[i] + x.b[i];
}

KLAB_MUTANT(VectorAdd, Fault::not_written, {.run = run});

}  // namespace
}  // namespace klab
