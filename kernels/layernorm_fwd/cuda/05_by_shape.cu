// layernorm_fwd.cuda.05_by_shape: count blocks first.
//
// CHANGE    who shares a row follows from the shape: a warp, as by the parent, a block, or as many blocks as the device needs to
//           be full. A thread takes mean and squares of 16 features at a time, four loads of 16 bytes, and merges them into what
//           it has. The blocks of a row leave such moments; one warp joins them; then a block has 4,096 columns
//           and writes them for all rows, so that gamma and beta are read once.
// EXPECT    4 rows of 4 M features are 528 blocks where there were four warps in one block, and cross the border three times, x
//           twice: at least 200 times the parent. Rows of up to 1,024 features as by the parent.
// NUMERICS  moments of parts, merged (Chan, Golub and LeVeque); of rows of up to 1,024 features two passes.
// NEEDS     rows of a multiple of four features and arrays that begin at multiples of 16 bytes; others go by single features.
// SASS      LDG.128 STG.128; no LDL STL CALL.div_*64
#include "harness/core/registrar.h"
#include "kernels/common/cuda.h"
#include "kernels/common/rows/by_shape.h"
#include "kernels/common/rows/device.h"
#include "kernels/common/rows/moments.h"
#include "reference/layernorm_fwd/layernorm_fwd.h"

namespace klab {
namespace {

constexpr int kThreads = 256;

/// Over all lanes, in all lanes.
__device__ __forceinline__ float sum_of(float v) {
  for (int by = 16; by > 0; by /= 2) v += __shfl_xor_sync(~0U, v, by);
  return v;
}

/// A row of up to 32·kEach·kKept features: lane 0 has the first kEach, lane 1 the next ..., then lane 0 again.
template <int kEach, int kKept>
__global__ void __launch_bounds__(256, 1)
    keep(int64_t n, int c, const float* __restrict__ x, const float* __restrict__ gamma,
         const float* __restrict__ beta, const float* __restrict__ epsilon, float* __restrict__ y,
         float* __restrict__ mean_of, float* __restrict__ rstd_of) {
  const int64_t i = (int64_t(blockIdx.x) * blockDim.x + threadIdx.x) / 32;
  if (i >= n) return;  // all lanes of the warp
  const int lane = int(threadIdx.x) % 32;
  rows::Pack<kEach> kept[kKept] = {};  // registers have no index: every loop over it is unrolled
  float sum = 0, squares = 0;
#pragma unroll
  for (int p = 0; p < kKept; ++p) {
    const int j = (32 * p + lane) * kEach;
    if (j >= c) continue;
    kept[p] = rows::load<kEach>(x + i * c + j);
    for (int k = 0; k < kEach; ++k) sum += kept[p].v[k];
  }
  const float mean = sum_of(sum) / float(c);
#pragma unroll
  for (int p = 0; p < kKept; ++p)
    for (int k = 0; k < kEach && (32 * p + lane) * kEach < c; ++k)
      squares += (kept[p].v[k] - mean) * (kept[p].v[k] - mean);
  const float rstd = 1 / sqrtf(sum_of(squares) / float(c) + *epsilon);
#pragma unroll
  for (int p = 0; p < kKept; ++p) {
    const int j = (32 * p + lane) * kEach;
    if (j >= c) continue;
    const rows::Pack<kEach> scale = rows::load<kEach>(gamma + j), shift = rows::load<kEach>(beta + j);
    for (int k = 0; k < kEach; ++k) kept[p].v[k] = scale.v[k] * ((kept[p].v[k] - mean) * rstd) + shift.v[k];
    rows::store<kEach>(y + i * c + j, kept[p]);
  }
  if (lane == 0) mean_of[i] = mean, rstd_of[i] = rstd;
}

/// Block b has row b, and normalizes it as it reads it again.
template <int kEach>
__global__ void __launch_bounds__(1024)
    whole(int c, const float* __restrict__ x, const float* __restrict__ gamma, const float* __restrict__ beta,
          const float* __restrict__ epsilon, float* __restrict__ y, float* __restrict__ mean_of,
          float* __restrict__ rstd_of) {
  __shared__ rows::Moments of_warp[32];
  const int64_t i = blockIdx.x;
  const float* row = x + i * c;
  const rows::Moments all = rows::join_block(rows::read_moments<kEach>(row, c, 0, 1), of_warp);
  const float mean = all.mean, rstd = 1 / sqrtf(all.squares / float(c) + *epsilon);
#pragma unroll 2
  for (int j = int(threadIdx.x) * kEach; j < c; j += int(blockDim.x) * kEach) {
    rows::Pack<kEach> p = rows::load<kEach>(row + j);
    const rows::Pack<kEach> scale = rows::load<kEach>(gamma + j), shift = rows::load<kEach>(beta + j);
    for (int k = 0; k < kEach; ++k) p.v[k] = scale.v[k] * ((p.v[k] - mean) * rstd) + shift.v[k];
    rows::store<kEach>(y + i * c + j, p);
  }
  if (threadIdx.x == 0) mean_of[i] = mean, rstd_of[i] = rstd;
}

/// Block b has part b % parts of row b / parts.
template <int kEach>
__global__ void __launch_bounds__(kThreads)
    moments(int parts, int c, const float* __restrict__ x, rows::Moments* __restrict__ found) {
  __shared__ rows::Moments of_warp[32];
  const int64_t i = blockIdx.x / unsigned(parts);
  const rows::Moments all = rows::join_block(
      rows::read_moments<kEach>(x + i * c, c, int(blockIdx.x % unsigned(parts)), parts), of_warp);
  if (threadIdx.x == 0) found[blockIdx.x] = all;
}

/// Warp i joins the moments of row i.
__global__ void __launch_bounds__(32)
    join_moments(int parts, int c, const rows::Moments* __restrict__ found, const float* __restrict__ epsilon,
                 float* __restrict__ mean_of, float* __restrict__ rstd_of) {
  rows::Moments all = rows::Moments::none();
  for (int k = int(threadIdx.x); k < parts; k += 32) all = all.with(found[blockIdx.x * unsigned(parts) + k]);
  all = rows::join_lanes(all);
  if (threadIdx.x > 0) return;
  mean_of[blockIdx.x] = all.mean;
  rstd_of[blockIdx.x] = 1 / sqrtf(all.squares / float(c) + *epsilon);
}

/// A block has rows::kBatch·kThreads packs of columns, the last first: the end of a row is what L2 still holds.
template <int kEach>
__global__ void __launch_bounds__(kThreads)
    normalize(int n, int c, const float* __restrict__ x, const float* __restrict__ gamma,
              const float* __restrict__ beta, float* __restrict__ y, const float* __restrict__ mean_of,
              const float* __restrict__ rstd_of) {
  const int k = int(gridDim.x - 1 - blockIdx.x) * rows::kBatch * kThreads + int(threadIdx.x),
            packs = c / kEach;
  const rows::Batch<kEach> scale(gamma, k, kThreads, packs), shift(beta, k, kThreads, packs);
  for (int i = 0; i < n; ++i) {
    const float mean = mean_of[i], rstd = rstd_of[i];
    rows::Batch<kEach> batch(x + int64_t(i) * c, k, kThreads, packs);
#pragma unroll
    for (int b = 0; b < rows::kBatch; ++b) {
      auto& v = batch.v[b].v;
      for (int e = 0; e < kEach; ++e) v[e] = scale.v[b].v[e] * ((v[e] - mean) * rstd) + shift.v[b].v[e];
      if (b < batch.each)
        rows::store<kEach>(y + int64_t(i) * c + int64_t(k + b * kThreads) * kEach, batch.v[b]);
    }
  }
}

using Kernel = void (*)(int64_t, int, const float*, const float*, const float*, const float*, float*, float*,
                        float*);

/// The kernel that keeps no more of c features than it must.
template <int kEach, int kKept = 1>
Kernel kernel_for(int64_t c) {
  if constexpr (32 * kEach * kKept >= rows::kWarpColumns)
    return keep<kEach, kKept>;
  else
    return c <= 32 * kEach * kKept ? keep<kEach, kKept> : kernel_for<kEach, 2 * kKept>(c);
}

template <int kEach>
void run_by(const LayernormFwd::Args<float>& x) {
  const auto [n, c] = x.shape;
  const rows::Plan plan = rows::plan(n, c, cuda::device().multiprocessors);
  if (plan.by == rows::Sharers::warp) {
    const int threads =
        c > 256 ? std::min(plan.threads, 128) : plan.threads;  // small blocks leave a short last round
    cuda::launch(kernel_for<kEach>(c), rows::blocks_of(n, threads / 32), threads, 0, n, int(c), x.x, x.gamma,
                 x.beta, x.epsilon, x.y, x.mean, x.rstd);
  } else if (plan.by == rows::Sharers::block) {
    cuda::launch(whole<kEach>, plan.grid, plan.threads, 0, int(c), x.x, x.gamma, x.beta, x.epsilon, x.y,
                 x.mean, x.rstd);
  } else {
    const cuda::Scratch found(sizeof(rows::Moments) * plan.grid);
    const int parts = int(plan.parts);
    cuda::launch(moments<kEach>, plan.grid, kThreads, 0, parts, int(c), x.x, found.as<rows::Moments>());
    cuda::launch(join_moments, unsigned(n), 32, 0, parts, int(c), found.as<rows::Moments>(), x.epsilon,
                 x.mean, x.rstd);
    cuda::launch(normalize<kEach>, rows::blocks_of(c, kEach * rows::kBatch * kThreads), kThreads, 0, int(n),
                 int(c), x.x, x.gamma, x.beta, x.y, x.mean, x.rstd);
  }
}

void run(const LayernormFwd::Args<float>& x) {
  if (x.shape.n == 0) return;
  x.shape.c % 4 == 0 && rows::aligned(x.x, x.gamma, x.beta, x.y) ? run_by<4>(x) : run_by<1>(x);
}

KLAB_VARIANT(LayernormFwd, {.run = run,
                            .parent = "04_kept",
                            .tiles = {4, 128, 256, 512, 1024, rows::kGridColumns},
                            .expect = {.shape = {4, 1 << 22}, .over_parent = 200}});

}  // namespace
}  // namespace klab
