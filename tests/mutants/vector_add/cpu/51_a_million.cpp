// vector_add.cpu.51_a_million: has a grid of 4096 blocks of 256, and one element for each thread.
// Class: sizes. Must be caught as Fault::not_written.
#include <algorithm>

#include "reference/vector_add/vector_add.h"
#include "tests/mutants/mutant.h"

namespace klab {
namespace {

void run(const VectorAdd::Args<float>& x) {
  for (int64_t i = 0; i < std::min<int64_t>(x.shape.n, 1 << 20); ++i) x.c[i] = x.a[i] + x.b[i];
}

KLAB_MUTANT(VectorAdd, Fault::not_written, {.run = run});

}  // namespace
}  // namespace klab
