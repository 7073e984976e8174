// clip_norm.cuda.02_block_sums: sums of blocks first.
//
// CHANGE   a thread adds up some entries, shuffles and shared memory add up the block, one atomic a block.
// EXPECT   one atomic for thousands of entries: the bandwidth of the memory.
// NUMERICS squares and their sum in double, blocks in any order.
#include "harness/core/registrar.h"
#include "kernels/common/cuda.h"
#include "reference/clip_norm/clip_norm.h"

namespace klab {
namespace {

constexpr int kThreads = 256, kEach = 16;

__device__ __forceinline__ double sum_of_block(double value) {
  __shared__ double sums[kThreads / 32];
  for (int by = 16; by > 0; by /= 2) value += __shfl_xor_sync(~0U, value, by);
  if (threadIdx.x % 32 == 0) sums[threadIdx.x / 32] = value;
  __syncthreads();
  double sum = 0;
  for (int k = 0; k < kThreads / 32; ++k) sum += sums[k];
  return sum;
}

__global__ void __launch_bounds__(kThreads) add_up(ClipNorm::Args<float> x, double* __restrict__ squares) {
  double sum = 0;
  const int64_t first = int64_t(blockIdx.x) * kThreads * kEach + threadIdx.x;
  for (int64_t k = 0; k < kEach; ++k) {
    const int64_t i = first + k * kThreads;
    if (i < x.shape.n) sum += double(x.gradient[i]) * double(x.gradient[i]);
  }
  sum = sum_of_block(sum);
  if (threadIdx.x == 0) atomicAdd(squares, sum);
}

__global__ void __launch_bounds__(kThreads)
    scale(ClipNorm::Args<float> x, const double* __restrict__ squares) {
  const int64_t i = int64_t(blockIdx.x) * kThreads + threadIdx.x;
  const double norm = sqrt(*squares);
  if (i == 0) *x.norm = float(norm);
  if (i < x.shape.n && norm > double(*x.limit)) x.gradient[i] *= float(double(*x.limit) / norm);
}

void run(const ClipNorm::Args<float>& x) {
  cuda::Scratch scratch(sizeof(double));
  cuda::fill_zero(scratch.as<double>(), sizeof(double));
  const int64_t n = x.shape.n > 0 ? x.shape.n : 1;
  cuda::launch(add_up, dim3(unsigned((n + kThreads * kEach - 1) / (kThreads * kEach))), dim3(kThreads), 0, x,
               scratch.as<double>());
  cuda::launch(scale, dim3(unsigned((n + kThreads - 1) / kThreads)), dim3(kThreads), 0, x,
               scratch.as<double>());
}

KLAB_VARIANT(ClipNorm, {.run = run,
                        .parent = "01_atomic_sum",
                        .numerics = {.deterministic = false},
                        .tiles = {kThreads, kThreads* kEach}});

}  // namespace
}  // namespace klab
