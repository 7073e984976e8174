// depth_l1_fwd.cpu.01_naive: ray after ray.
//
// CHANGE   the naive loop.
// EXPECT   a few bytes a ray; some thousand rays take less than a thread takes to wake.
#include <cmath>

#include "harness/core/registrar.h"
#include "reference/depth_l1_fwd/depth_l1_fwd.h"

namespace klab {
namespace {

void run(const DepthL1Fwd::Args<float>& x) {
  for (int64_t r = 0; r < x.shape.rays; ++r)
    x.loss[r] = x.truth[r] > 0 ? std::abs(x.depth[r] - x.truth[r]) : 0.0F;
}

KLAB_VARIANT(DepthL1Fwd, {.run = run});

}  // namespace
}  // namespace klab
