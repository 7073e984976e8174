// reduce.cuda.03_last_block: the block that ends last adds up.
//
// CHANGE    one launch: each block leaves its sum and then draws a number; the one that draws the last knows that all sums are
//           there, and adds them (kernels/common/last_block.h).
// EXPECT    the second launch goes, and a counter has to be cleared before the first: 1 us at most, which shows where the sum
//           itself takes 3; nothing at 2^26 elements.
// NUMERICS  as the parent: the last block adds the sums in their order, whichever block it is.
// NEEDS     4 bytes a block and a counter.
#include "harness/core/registrar.h"
#include "kernels/common/cuda.h"
#include "kernels/common/last_block.h"
#include "reference/reduce/reduce.h"

namespace klab {
namespace {

constexpr int kThreads = 256, kWarps = kThreads / 32, kItems = 16, kTile = kThreads * kItems;
constexpr int kBlocksEach = 8;  // of a multiprocessor: all threads that it holds

#include "kernels/reduce/cuda/03_last_block-inl.h"

__global__ void __launch_bounds__(kThreads)
    add_up(const float* __restrict__ x, int64_t n, float* sums, unsigned* arrivals, float* sum) {
  const int64_t stride = int64_t(gridDim.x) * kThreads;
  float own = 0;
  for (int64_t i = int64_t(blockIdx.x) * kThreads + threadIdx.x; i < n; i += stride) own += x[i];
  own = sum_of_block(own);
  if (gridDim.x > 1) {
    if (threadIdx.x == 0) sums[blockIdx.x] = own;
    if (!cuda::is_last_block(arrivals, gridDim.x)) return;
    own = 0;
    for (unsigned k = threadIdx.x; k < gridDim.x; k += kThreads) own += sums[k];
    own = sum_of_block(own);
  }
  if (threadIdx.x == 0) *sum = own;
}

void run(const Reduce::Args<float>& x) {
  const int64_t wanted = (x.shape.n + kTile - 1) / kTile;
  const int64_t held = int64_t(cuda::device().multiprocessors) * kBlocksEach;
  const int64_t blocks = wanted < 1 ? 1 : wanted < held ? wanted : held;
  const cuda::Scratch scratch(size_t(blocks + 1) * sizeof(float));
  auto* const arrivals = scratch.as<unsigned>();
  if (blocks > 1) cuda::fill_zero(arrivals, sizeof(unsigned));
  cuda::launch(add_up, unsigned(blocks), kThreads, 0, x.x, x.shape.n, scratch.as<float>() + 1, arrivals,
               x.sum);
}

KLAB_VARIANT(Reduce, {.run = run, .parent = "02_two_kernels", .tiles = {32, kThreads, kTile}});

}  // namespace
}  // namespace klab
