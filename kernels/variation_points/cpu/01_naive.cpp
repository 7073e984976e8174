// variation_points.cpu.01_naive: point after point.
//
// CHANGE   the naive loop.
// EXPECT   the generator: ten rounds a point.
#include "harness/core/registrar.h"
#include "kernels/common/philox.h"
#include "reference/variation_points/variation_points.h"

namespace klab {
namespace {

void run(const VariationPoints::Args<float>& x) {
  const int64_t n = x.shape.points;
  for (int64_t p = 0; p < n; ++p) {
    const PhiloxWords words = philox(uint64_t(p) + (uint64_t{2} << 32), x.seed, x.step);
    for (int64_t axis = 0; axis < 3; ++axis)
      for (int64_t moved = 0; moved < 4; ++moved)
        x.positions[(axis * 4 + moved) * n + p] =
            (1 - *x.h) * (float(words.w[axis] >> 8) * 0x1p-24F) + (moved == axis + 1 ? *x.h : 0.0F);
  }
}

KLAB_VARIANT(VariationPoints, {.run = run});

}  // namespace
}  // namespace klab
