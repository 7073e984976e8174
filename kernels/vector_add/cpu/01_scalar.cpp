// vector_add.cpu.01_scalar: one addition at a time.
//
// CHANGE    the naive loop; automatic vectorization is held off so that there is something to compare with.
// EXPECT    four instructions per element: far from the copy bandwidth while the data sit in cache, near the
//           memory's pace beyond it.
// NUMERICS  one correctly rounded float addition an element.
#include "harness/core/registrar.h"
#include "kernels/common/scalar.h"
#include "reference/vector_add/vector_add.h"

namespace klab {
namespace {

KLAB_SCALAR_FUNCTION void run(const VectorAdd::Args<float>& x) {
  KLAB_SCALAR_LOOP
  for (int64_t i = 0; i < x.shape.n; ++i) x.c[i] = x.a[i] + x.b[i];
}

KLAB_VARIANT(VectorAdd, {.run = run});

}  // namespace
}  // namespace klab
