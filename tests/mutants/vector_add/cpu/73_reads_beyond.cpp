// vector_add.cpu.73_reads_beyond: reads the element behind the last one, and does not use it.
// Class: memory. Must be caught as Fault::out_of_bounds.
#include "reference/vector_add/vector_add.h"
#include "tests/mutants/mutant.h"

namespace klab {
namespace {

void right(const VectorAdd::Args<float>& x) {
  for (int64_t i = 0; i < x.shape.n; ++i) x.c[i] = x.a[i] + x.b[i];
}

void run(const VectorAdd::Args<float>& x) {
  volatile float sink = x.b[x.shape.n];
  static_cast<void>(sink);
  right(x);
}

KLAB_MUTANT(VectorAdd, Fault::out_of_bounds, {.run = run});

}  // namespace
}  // namespace klab
