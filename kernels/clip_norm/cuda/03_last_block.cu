// clip_norm.cuda.03_last_block: as many blocks as fit, 16 bytes a load.
//
// CHANGE    four blocks a multiprocessor go through the gradient, a thread with four loads of 16 bytes in flight. The block
//           that ends last adds up the sums of all (kernels/common/last_block.h) and writes the norm; a gradient that is short
//           enough sends the blocks of the second launch home, and these are 528, not 65,536.
// EXPECT    2^24 entries are 67 MB: 16 us at 4.3 TB/s, and two launches: 3 times the parent, whose second launch alone starts
//           65,536 blocks for nothing, and whose first waits for 16 loads of 4 bytes.
// NUMERICS  squares and their sum in double, in an order that the number of blocks decides.
// NEEDS     8 bytes a block; a gradient that begins at a multiple of 16 bytes, others go by single entries.
// SASS      LDG.128 STG.128 ATOMG.ADD; no LDL STL CALL.div_*64
#include "harness/core/registrar.h"
#include "kernels/common/cuda.h"
#include "kernels/common/last_block.h"
#include "reference/clip_norm/clip_norm.h"

namespace klab {
namespace {

constexpr int kThreads = 256, kFours = 4, kEach = 4 * kFours, kOfMultiprocessor = 4;

__device__ __forceinline__ double sum_of_block(double value) {
  __shared__ double sums[kThreads / 32];
  for (int by = 16; by > 0; by /= 2) value += __shfl_xor_sync(~0U, value, by);
  if (threadIdx.x % 32 == 0) sums[threadIdx.x / 32] = value;
  __syncthreads();
  double sum = 0;
  for (int k = 0; k < kThreads / 32; ++k) sum += sums[k];
  return sum;
}

__device__ __forceinline__ float4 load(const float* p, int64_t i, int64_t n, bool whole) {
  if (whole && i + 4 <= n) return *reinterpret_cast<const float4*>(p + i);
  return make_float4(i < n ? p[i] : 0, i + 1 < n ? p[i + 1] : 0, i + 2 < n ? p[i + 2] : 0,
                     i + 3 < n ? p[i + 3] : 0);
}

__global__ void __launch_bounds__(kThreads)
    add_up(ClipNorm::Args<float> x, bool whole, double* __restrict__ parts, unsigned* arrivals) {
  const auto square = [](float v) { return double(v) * double(v); };
  double sum = 0;
#pragma unroll 1
  for (int64_t first = int64_t(blockIdx.x) * kThreads * kEach; first < x.shape.n;
       first += int64_t(gridDim.x) * kThreads * kEach) {
    float4 v[kFours];
#pragma unroll
    for (int k = 0; k < kFours; ++k)
      v[k] = load(x.gradient, first + (k * kThreads + int(threadIdx.x)) * 4, x.shape.n, whole);
#pragma unroll
    for (int k = 0; k < kFours; ++k) sum += square(v[k].x) + square(v[k].y) + square(v[k].z) + square(v[k].w);
  }
  sum = sum_of_block(sum);
  if (threadIdx.x == 0) parts[blockIdx.x] = sum;
  if (!cuda::is_last_block(arrivals, gridDim.x)) return;
  sum = 0;
  for (unsigned k = threadIdx.x; k < gridDim.x; k += kThreads) sum += parts[k];
  sum = sqrt(sum_of_block(sum));
  if (threadIdx.x != 0) return;
  *x.norm = float(sum);
  parts[gridDim.x] = sum;
}

__global__ void __launch_bounds__(kThreads)
    scale(ClipNorm::Args<float> x, bool whole, const double* __restrict__ norm) {
  if (!(*norm > double(*x.limit))) return;
  const auto factor = float(double(*x.limit) / *norm);
#pragma unroll 1
  for (int64_t i = (int64_t(blockIdx.x) * kThreads + threadIdx.x) * 4; i < x.shape.n;
       i += int64_t(gridDim.x) * kThreads * 4) {
    const float4 v = load(x.gradient, i, x.shape.n, whole);
    if (whole && i + 4 <= x.shape.n) {
      *reinterpret_cast<float4*>(x.gradient + i) =
          make_float4(v.x * factor, v.y * factor, v.z * factor, v.w * factor);
      continue;
    }
    x.gradient[i] = v.x * factor;
    if (i + 1 < x.shape.n) x.gradient[i + 1] = v.y * factor;
    if (i + 2 < x.shape.n) x.gradient[i + 2] = v.z * factor;
    if (i + 3 < x.shape.n) x.gradient[i + 3] = v.w * factor;
  }
}

void run(const ClipNorm::Args<float>& x) {
  const int64_t wanted = (x.shape.n + kThreads * kEach - 1) / (kThreads * kEach);
  const int64_t most = int64_t(cuda::device().multiprocessors) * kOfMultiprocessor;
  const auto blocks = unsigned(wanted < 1 ? 1 : wanted < most ? wanted : most);
  const cuda::Scratch scratch((blocks + 1) * sizeof(double) + sizeof(unsigned));
  auto* const parts = scratch.as<double>();  // of each block; then the norm
  auto* const arrivals = reinterpret_cast<unsigned*>(parts + blocks + 1);
  cuda::fill_zero(arrivals, sizeof(unsigned));
  const bool whole = cuda::aligned(x.gradient);
  cuda::launch(add_up, blocks, kThreads, 0, x, whole, parts, arrivals);
  cuda::launch(scale, blocks, kThreads, 0, x, whole, parts + blocks);
}

KLAB_VARIANT(ClipNorm, {.run = run,
                        .parent = "02_block_sums",
                        .tiles = {4, kThreads, kThreads* kEach},
                        .expect = {.shape = {1 << 24}, .over_parent = 2.5}});

}  // namespace
}  // namespace klab
