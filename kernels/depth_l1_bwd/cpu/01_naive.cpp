// depth_l1_bwd.cpu.01_naive: ray after ray.
//
// CHANGE   the naive loop; depths are compared, as a difference of tiny ones may be flushed to 0.
// EXPECT   a few bytes a ray; some thousand rays take less than a thread takes to wake.
#include "harness/core/registrar.h"
#include "reference/depth_l1_bwd/depth_l1_bwd.h"

namespace klab {
namespace {

void run(const DepthL1Bwd::Args<float>& x) {
  for (int64_t r = 0; r < x.shape.rays; ++r) {
    const float d = x.depth[r], truth = x.truth[r];
    const float slope = d > truth ? x.d_loss[r] : d < truth ? -x.d_loss[r] : 0.0F;
    x.d_depth[r] = truth > 0 ? slope : 0.0F;
  }
}

KLAB_VARIANT(DepthL1Bwd, {.run = run});

}  // namespace
}  // namespace klab
