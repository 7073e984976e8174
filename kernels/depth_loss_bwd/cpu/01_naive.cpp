// depth_loss_bwd.cpu.01_naive: ray after ray.
//
// CHANGE   the naive loop.
// EXPECT   a few bytes a ray; some thousand rays take less than a thread takes to wake.
#include "harness/core/registrar.h"
#include "reference/depth_loss_bwd/depth_loss_bwd.h"

namespace klab {
namespace {

void run(const DepthLossBwd::Args<float>& x) {
  for (int64_t r = 0; r < x.shape.rays; ++r) {
    const float error = x.depth[r] - x.truth[r];
    x.d_depth[r] = x.truth[r] > 0 ? x.d_loss[r] * error : 0.0F;
  }
}

KLAB_VARIANT(DepthLossBwd, {.run = run});

}  // namespace
}  // namespace klab
