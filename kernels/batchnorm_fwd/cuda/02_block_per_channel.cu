// batchnorm_fwd.cuda.02_block_per_channel: 256 threads share a channel.
//
// CHANGE    a block has a channel; its threads go along the positions, all of them and all examples as one sequence, and agree
//           on the sum and on the squares by shuffles and eight numbers in shared memory.
// EXPECT    neighbors read neighbors: 4 to 5 sectors/request in place of 32, and 256 times the threads. Without positions
//           (hw = 1) neighbors in the sequence are a row apart still.
// NUMERICS  two passes; 256 strided partial sums, then tree order.
#include "harness/core/registrar.h"
#include "kernels/common/cuda.h"
#include "reference/batchnorm_fwd/batchnorm_fwd.h"

namespace klab {
namespace {

constexpr int kThreads = 256, kWarps = kThreads / 32;

#include "kernels/batchnorm_fwd/cuda/02_block_per_channel-inl.h"

void run(const BatchnormFwd::Args<float>& x) {
  if (x.shape.c > 0) cuda::launch(normalize, unsigned(x.shape.c), kThreads, 0, x);
}

KLAB_VARIANT(BatchnormFwd, {.run = run,
                            .parent = "01_thread_per_channel",
                            .tiles = {kThreads},
                            .expect = {.shape = {32, 64, 56 * 56}, .over_parent = 10}});

}  // namespace
}  // namespace klab
