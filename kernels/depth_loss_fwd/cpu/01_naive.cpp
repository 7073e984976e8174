// depth_loss_fwd.cpu.01_naive: ray after ray.
//
// CHANGE   the naive loop.
// EXPECT   a few bytes a ray; some thousand rays take less than a thread takes to wake.
#include "harness/core/registrar.h"
#include "reference/depth_loss_fwd/depth_loss_fwd.h"

namespace klab {
namespace {

void run(const DepthLossFwd::Args<float>& x) {
  for (int64_t r = 0; r < x.shape.rays; ++r) {
    const float error = x.depth[r] - x.truth[r];
    x.loss[r] = x.truth[r] > 0 ? error * error * 0.5F : 0.0F;
  }
}

KLAB_VARIANT(DepthLossFwd, {.run = run});

}  // namespace
}  // namespace klab
