// vector_add.cpu.01_scalar: one addition at a time.
//
// CHANGE    the naive loop; automatic vectorization is held off so that there is something to compare with.
// EXPECT    far from the copy bandwidth while the data sit in cache; memory-bound beyond it.
// NUMERICS  one correctly rounded float addition an element.
// NEEDS     nothing.
// TRIED     -
#include "harness/registrar.h"
#include "reference/vector_add/vector_add.h"

namespace klab {
namespace {

__attribute__((optimize("no-tree-vectorize"))) void run(const VectorAdd::Args<float>& x) {
  for (int64_t i = 0; i < x.shape.n; ++i) x.c[i] = x.a[i] + x.b[i];
}

KLAB_VARIANT(VectorAdd, {.run = run});

}  // namespace
}  // namespace klab
