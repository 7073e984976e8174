// rmsnorm_bwd.cuda.03_warp_keeps: no barrier a row, many threads a column.
//
// CHANGE    a warp keeps x and d_y of a row of up to 1,024 features, all loads of 16 bytes in flight before the first is used, and
//           the sums of all columns from row to row. One block of up to 16 warps a multiprocessor adds up those of its warps and
//           leaves a row of partial sums; 32 warps join these for 32 columns. Each of few rows has a block.
// EXPECT    as many bytes. No barrier a row; 132 partial sums a column, four a thread, where one thread added 256 in four
//           blocks: at least 1.5 times. Longer rows take the parent's two kernels.
// NUMERICS  tree order along a row; down a column the rows of a warp in order, then warps, then blocks in tree order.
// NEEDS     rows of a multiple of four features and arrays that begin at multiples of 16 bytes; others go by single features.
#include "harness/core/registrar.h"
#include "kernels/common/cuda.h"
#include "kernels/common/rows/by_shape.h"
#include "kernels/common/rows/columns.h"
#include "kernels/common/rows/device.h"
#include "reference/rmsnorm_bwd/rmsnorm_bwd.h"

namespace klab {
namespace {

constexpr int kThreads = 256;
using Args = RmsnormBwd::Args<float>;

/// Warps that a multiprocessor holds, with 128 registers a thread; single features take more, for their addresses.
template <int kEach>
constexpr int kWarps = kEach == 4 ? 16 : 8;

__device__ __forceinline__ float sum_of(float v) {
  for (int by = 16; by > 0; by /= 2) v += __shfl_xor_sync(~0U, v, by);
  return v;
}

/// Warp w of all has rows w, w + warps ... of at most 32·kEach·kKept features. partial: [blocks][c].
template <int kEach, int kKept>
__global__ void __launch_bounds__(32 * kWarps<kEach>, 1)
    kept_gradients(int64_t n, int c, const float* __restrict__ x, const float* __restrict__ gamma,
                   const float* __restrict__ rrms_of, const float* __restrict__ d_y, float* __restrict__ d_x,
                   float* __restrict__ partial) {
  KLAB_DYNAMIC_SHARED(float, sums);  // [warps][32·kEach·kKept]
  const int lane = int(threadIdx.x) % 32, warp = int(threadIdx.x) / 32, warps = int(blockDim.x) / 32;
  rows::Pack<kEach> d_gamma[kKept] = {};
  for (int64_t i = int64_t(blockIdx.x) * warps + warp; i < n; i += int64_t(gridDim.x) * warps) {
    const float rrms = rrms_of[i];
    rows::Pack<kEach> xhat[kKept] = {}, g[kKept] = {};
    float product = 0;
#pragma unroll
    for (int p = 0; p < kKept; ++p) {
      const int j = (32 * p + lane) * kEach;
      if (j < c) xhat[p] = rows::load<kEach>(x + i * c + j), g[p] = rows::load<kEach>(d_y + i * c + j);
    }
#pragma unroll
    for (int p = 0; p < kKept; ++p) {
      const int j = (32 * p + lane) * kEach;
      if (j >= c) continue;
      const rows::Pack<kEach> scale = rows::load<kEach>(gamma + j);
      for (int k = 0; k < kEach; ++k) {
        float &h = xhat[p].v[k], &d = g[p].v[k];
        h *= rrms;
        d_gamma[p].v[k] += d * h;
        d *= scale.v[k];
        product += d * h;
      }
    }
    product = sum_of(product) / float(c);
#pragma unroll
    for (int p = 0; p < kKept; ++p) {
      const int j = (32 * p + lane) * kEach;
      for (int k = 0; k < kEach; ++k) g[p].v[k] = rrms * (g[p].v[k] - xhat[p].v[k] * product);
      if (j < c) rows::store<kEach>(d_x + i * c + j, g[p]);
    }
  }
  constexpr int width = 32 * kEach * kKept;
#pragma unroll
  for (int p = 0; p < kKept; ++p)
    if (const int j = (32 * p + lane) * kEach; j < c)
      *reinterpret_cast<rows::Pack<kEach>*>(sums + warp * width + j) = d_gamma[p];
  __syncthreads();
  for (int j = int(threadIdx.x); j < c; j += 32 * warps) {
    float sum = 0;
    for (int w = 0; w < warps; ++w) sum += sums[w * width + j];
    partial[int64_t(blockIdx.x) * c + j] = sum;
  }
}

/// Warp r has row r.
__global__ void __launch_bounds__(kThreads)
    rows_of(int64_t n, int64_t c, const float* __restrict__ x, const float* __restrict__ gamma,
            const float* __restrict__ rrms_of, const float* __restrict__ d_y, float* __restrict__ d_x) {
  const int64_t i = (int64_t(blockIdx.x) * kThreads + threadIdx.x) / 32;
  if (i >= n) return;  // all lanes of the warp
  const int lane = int(threadIdx.x) % 32;
  const float rrms = rrms_of[i];
  float product = 0;
  for (int64_t j = lane; j < c; j += 32) product += d_y[i * c + j] * gamma[j] * (x[i * c + j] * rrms);
  product = sum_of(product) / float(c);
  for (int64_t j = lane; j < c; j += 32)
    d_x[i * c + j] = rrms * (d_y[i * c + j] * gamma[j] - x[i * c + j] * rrms * product);
}

#include "kernels/rmsnorm_bwd/cuda/01_two_kernels_columns-inl.h"

/// Launches the kernel that keeps no more of c features than it must.
template <int kEach, int kKept = 1>
void run_kept(const Args& x, int multiprocessors) {
  const auto [n, c] = x.shape;
  constexpr int kept = kEach * kKept;
  if constexpr (32 * kept < rows::kWarpColumns)
    if (c > 32 * kept) return run_kept<kEach, 2 * kKept>(x, multiprocessors);
  // Blocks that fit: registers for the features and the sums of a lane, three of each.
  const int64_t fitting = int64_t(multiprocessors) * std::clamp(16 / kept, 1, 3);
  const int warps = int(
      std::clamp<int64_t>(rows::blocks_of(n, multiprocessors), 1, kWarps<kEach>));  // few rows: a block each
  const unsigned grid = unsigned(std::min<int64_t>(fitting, rows::blocks_of(n, warps)));
  const size_t shared = sizeof(float) * warps * 32 * kept;
  const cuda::Scratch partial(sizeof(float) * grid * size_t(c));
  const auto kernel = kept_gradients<kEach, kKept>;
  cuda::allow_shared(kernel, shared);
  if (n > 0)
    cuda::launch(kernel, grid, 32 * warps, shared, n, int(c), x.x, x.gamma, x.rrms, x.d_y, x.d_x,
                 partial.as<float>());
  rows::launch_join(grid, c, partial.as<float>(), x.d_gamma, nullptr);
}

template <int kEach>
void run_by(const Args& x) {
  const auto [n, c] = x.shape;
  if (n == 0 || c <= rows::kWarpColumns) return run_kept<kEach>(x, cuda::device().multiprocessors);
  cuda::launch(rows_of, rows::blocks_of(n, kThreads / 32), kThreads, 0, n, c, x.x, x.gamma, x.rrms, x.d_y,
               x.d_x);
  cuda::launch(columns, rows::blocks_of(c, kThreads), kThreads, 0, n, c, x.x, x.rrms, x.d_y, x.d_gamma);
}

void run(const Args& x) {
  const bool fours = x.shape.c % 4 == 0 && rows::aligned(x.x, x.gamma, x.d_y, x.d_x);
  fours ? run_by<4>(x) : run_by<1>(x);
}

KLAB_VARIANT(RmsnormBwd, {.run = run,
                          .parent = "02_one_reading",
                          .forward = "02_vectorized",
                          .tiles = {4, 16, 32, 128, 256, 512, 1024},
                          .expect = {.shape = {8192, 1024}, .over_parent = 1.5}});

}  // namespace
}  // namespace klab
