// momentum.cuda.01_launch_per_line: a launch for each line of the formula and tensor.
//
// CHANGE    as a library of tensor operations would run it, one thread per entry: 3 launches for each tensor.
// EXPECT    coalesced, but arrays go through memory once a line, and a network of many small tensors waits
//           for launches.
// NUMERICS  float; values that depend on the tensor alone in double, by one thread of a block.
// NEEDS     scratch of 4 bytes per entry.
#include "harness/core/registrar.h"
#include "kernels/common/optimizer/device.h"
#include "reference/momentum/momentum.h"

namespace klab {
namespace {

using Args = Momentum::Args<float>;
constexpr Optimizer kRule = Optimizer::momentum;

#include "kernels/common/optimizer/01_launch_per_line-inl.h"

KLAB_VARIANT(Momentum, {.run = run, .tiles = {kOptimizerThreads}});

}  // namespace
}  // namespace klab
