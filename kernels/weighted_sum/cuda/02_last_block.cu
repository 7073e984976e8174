// weighted_sum.cuda.02_last_block: many blocks, of which the last adds up.
//
// CHANGE   a block has 2,048 entries, all loaded before the first product. It leaves its sum in memory, and the block
//          that ends last adds up these in their order (kernels/common/last_block.h). Up to 16,384 entries one block
//          is all there is.
// EXPECT   the parent's 256 rounds of two loads in a row at 262,144 entries become one, and the sums of 128 blocks one
//          more. At 10,752 entries clearing a counter would cost more than the parent's ten rounds.
// NUMERICS products and sums in double, in an order that depends on nothing but n.
// NEEDS    8 bytes a block.
#include "harness/core/registrar.h"
#include "kernels/common/cuda.h"
#include "kernels/common/last_block.h"
#include "reference/weighted_sum/weighted_sum.h"

namespace klab {
namespace {

constexpr int kThreads = 256, kMostThreads = 1024, kItems = 8, kTile = kThreads * kItems;
constexpr int64_t kAlone = 16384;  // entries for a single block of the most threads

/// Returns the sum over the block, to thread 0 alone. All threads call it.
__device__ __forceinline__ double sum_of_block(double value) {
  __shared__ double sums[kMostThreads / 32];
  for (int by = 16; by > 0; by /= 2) value += __shfl_xor_sync(~0U, value, by);
  __syncthreads();  // sums may still be read from the last call
  if (threadIdx.x % 32 == 0) sums[threadIdx.x / 32] = value;
  __syncthreads();
  double sum = 0;
  if (threadIdx.x == 0)
    for (unsigned k = 0; k < blockDim.x / 32; ++k) sum += sums[k];
  return sum;
}

__global__ void __launch_bounds__(kMostThreads)
    add_up(WeightedSum::Args<float> x, double* parts, unsigned* arrivals) {
  double sum = 0;
  const int64_t tile = int64_t(blockDim.x) * kItems;
  for (int64_t from = blockIdx.x * tile + threadIdx.x; from < x.shape.n; from += gridDim.x * tile) {
    float weight[kItems], value[kItems];
#pragma unroll
    for (int k = 0; k < kItems; ++k) {
      const int64_t i = from + k * int64_t(blockDim.x);
      weight[k] = i < x.shape.n ? x.weight[i] : 0;
      value[k] = i < x.shape.n ? x.value[i] : 0;
    }
#pragma unroll
    for (int k = 0; k < kItems; ++k) sum += double(weight[k]) * double(value[k]);
  }
  sum = sum_of_block(sum);
  if (gridDim.x > 1) {
    if (threadIdx.x == 0) parts[blockIdx.x] = sum;
    if (!cuda::is_last_block(arrivals, gridDim.x)) return;
    sum = 0;
    for (unsigned k = threadIdx.x; k < gridDim.x; k += blockDim.x) sum += parts[k];
    sum = sum_of_block(sum);
  }
  if (threadIdx.x == 0) *x.sum += float(sum);
}

void run(const WeightedSum::Args<float>& x) {
  if (x.shape.n == 0) return;
  if (x.shape.n <= kAlone) {
    cuda::launch(add_up, dim3(1), dim3(kMostThreads), 0, x, nullptr, nullptr);
    return;
  }
  const int64_t blocks = (x.shape.n + kTile - 1) / kTile;
  const cuda::Scratch scratch(size_t(blocks + 1) * sizeof(double));
  auto* const parts = scratch.as<double>() + 1;
  auto* const arrivals = scratch.as<unsigned>();
  cuda::fill_zero(arrivals, sizeof(unsigned));
  cuda::launch(add_up, dim3(unsigned(blocks)), dim3(kThreads), 0, x, parts, arrivals);
}

KLAB_VARIANT(WeightedSum, {.run = run,
                           .parent = "01_one_block",
                           .tiles = {32, kTile, kAlone},
                           .expect = {.shape = {262144}, .over_parent = 3},
                           .when = {{262144}, "one block walks over a GPU's batch of rays in 256 rounds"}});

}  // namespace
}  // namespace klab
