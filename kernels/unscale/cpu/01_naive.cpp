// unscale.cpu.01_naive: entry after entry.
//
// CHANGE   the naive loop.
// EXPECT   8 bytes an entry.
#include "harness/core/registrar.h"
#include "reference/unscale/unscale.h"

namespace klab {
namespace {

void run(const Unscale::Args<float>& x) {
  const float factor = *x.first == 0x7FFFFFFF ? 1 / *x.scale : 0.0F;
  for (int64_t i = 0; i < x.shape.n; ++i) x.gradient[i] = factor != 0 ? x.gradient[i] * factor : 0.0F;
}

KLAB_VARIANT(Unscale, {.run = run});

}  // namespace
}  // namespace klab
