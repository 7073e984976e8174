// pixel_loss_fwd.cpu.01_naive: pixel by pixel, the case distinction as it reads.
//
// CHANGE    the naive loop.
// EXPECT    branches on every channel.
// NUMERICS  one rounding an operation.
#include <cmath>

#include "harness/core/registrar.h"
#include "kernels/common/scalar.h"
#include "reference/pixel_loss_fwd/pixel_loss_fwd.h"

namespace klab {
namespace {

KLAB_SCALAR_FUNCTION void run(const PixelLossFwd::Args<float>& x) {
  const auto [n, kind] = x.shape;
  const float d = PixelLossFwd::turn(kind);
  for (int64_t i = 0; i < n; ++i) {
    float sum = 0;
    KLAB_SCALAR_LOOP
    for (int64_t c = 0; c < 3; ++c) {
      const float e = std::abs(x.prediction[c * n + i] - x.target[c * n + i]);
      if (kind == 0)
        sum += e * e;
      else if (e <= d)
        sum += e * e / 2;
      else
        sum += d * (e - d / 2);
    }
    x.loss[i] = sum / 3;
  }
}

KLAB_VARIANT(PixelLossFwd, {.run = run});

}  // namespace
}  // namespace klab
