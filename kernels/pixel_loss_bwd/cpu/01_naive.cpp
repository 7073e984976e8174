// pixel_loss_bwd.cpu.01_naive: channel by channel, the case distinction as it reads.
//
// CHANGE    the naive loop.
// EXPECT    a branch on every channel.
// NUMERICS  one rounding an operation.
#include "harness/core/registrar.h"
#include "kernels/common/scalar.h"
#include "reference/pixel_loss_bwd/pixel_loss_bwd.h"

namespace klab {
namespace {

KLAB_SCALAR_FUNCTION void run(const PixelLossBwd::Args<float>& x) {
  const auto [n, kind] = x.shape;
  const float d = PixelLossFwd::turn(kind);
  for (int64_t i = 0; i < n; ++i) {
    KLAB_SCALAR_LOOP
    for (int64_t c = 0; c < 3; ++c) {
      const float e = x.prediction[c * n + i] - x.target[c * n + i];
      const float slope = kind == 0 ? 2 * e : e > d ? d : e < -d ? -d : e;
      x.d_prediction[c * n + i] = x.d_loss[i] * slope / 3;
    }
  }
}

KLAB_VARIANT(PixelLossBwd, {.run = run});

}  // namespace
}  // namespace klab
