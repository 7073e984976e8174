// momentum.cuda.02_fused_step: everything about an entry while it is in registers.
//
// CHANGE    one launch per tensor in place of 3: each array is read once and written once.
// EXPECT    20 bytes per entry, the compulsory ones: near the bandwidth for large tensors; small ones still cost a launch each.
// NUMERICS  as the parent: the same operations.
#include "harness/core/registrar.h"
#include "kernels/common/optimizer/device.h"
#include "reference/momentum/momentum.h"

namespace klab {
namespace {

using Args = Momentum::Args<float>;
constexpr Optimizer kRule = Optimizer::momentum;

#include "kernels/common/optimizer/02_fused_step-inl.h"

KLAB_VARIANT(Momentum, {.run = run,
                        .parent = "01_launch_per_line",
                        .tiles = {kOptimizerThreads},
                        .expect = {.shape = {1 << 23, 64, 1}, .over_parent = 1.3}});

}  // namespace
}  // namespace klab
