// depth_loss_fwd.cpu.81_near_is_unknown: takes distances below a hundredth for unknown.
// Class: inputs. Must be caught as Fault::wrong_value.
#include <algorithm>
#include <cmath>
#include "reference/depth_loss_fwd/depth_loss_fwd.h"
#include "tests/mutants/mutant.h"

namespace klab {
namespace {

void run(const DepthLossFwd::Args<float>& x) {
  for (int64_t r = 0; r < x.shape.rays; ++r) {
    const float error = x.depth[r] - x.truth[r];
    x.loss[r] = x.truth[r] > 1e-2F ? error * error * 0.5F : 0.0F;
  }
}

KLAB_MUTANT(DepthLossFwd, Fault::wrong_value, {.run = run});

}  // namespace
}  // namespace klab
