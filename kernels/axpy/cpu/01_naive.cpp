// axpy.cpu.01_naive: entry after entry.
//
// CHANGE   the naive loop.
// EXPECT   12 bytes an entry.
#include "harness/core/registrar.h"
#include "reference/axpy/axpy.h"

namespace klab {
namespace {

void run(const Axpy::Args<float>& x) {
  const float a = *x.a;
  for (int64_t i = 0; i < x.shape.n; ++i) x.y[i] += a * x.x[i];
}

KLAB_VARIANT(Axpy, {.run = run});

}  // namespace
}  // namespace klab
