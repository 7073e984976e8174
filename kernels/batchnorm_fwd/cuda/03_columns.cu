// batchnorm_fwd.cuda.03_columns: lanes are channels.
//
// CHANGE    without positions (hw = 1) a block has 128 channels of some rows: a warp has one row of them, 16 bytes a lane, with
//           four loads in flight; as many blocks as the device needs to be full. Each leaves moments of its rows, a warp a channel
//           merges these, and a third launch writes y, the last rows first: they are what L2 still holds. Channels with positions
//           go the parent's way.
// EXPECT    of 8192 rows of 1,024 the parent's warps read 32 sectors/request of which they use an eighth, three times: at
//           least 9 times.
// NUMERICS  moments of four rows, merged (Chan, Golub and LeVeque).
// NEEDS     for loads of 16 bytes channels of a multiple of four and arrays that begin at multiples of 16 bytes.
// SASS      LDG.128 STG.128; no LDL STL CALL.div_*64
#include "harness/core/registrar.h"
#include "kernels/common/cuda.h"
#include "kernels/common/rows/by_shape.h"
#include "kernels/common/rows/columns.h"
#include "kernels/common/rows/device.h"
#include "kernels/common/rows/moments.h"
#include "reference/batchnorm_fwd/batchnorm_fwd.h"

namespace klab {
namespace {

constexpr int kThreads = 256, kWarps = kThreads / 32, kRows = 4;
using Args = BatchnormFwd::Args<float>;

#include "kernels/batchnorm_fwd/cuda/02_block_per_channel-inl.h"

/// found: [gridDim.y][c].
template <int kEach>
__global__ void __launch_bounds__(kThreads)
    column_moments(int64_t n, int64_t each, int64_t c, const float* __restrict__ x,
                   rows::Moments* __restrict__ found) {
  __shared__ rows::Moments part[kWarps][32][kEach];
  const rows::Tile<kEach> tile(n, each, c);
  rows::Moments own[kEach];
  for (rows::Moments& m : own) m = rows::Moments::none();
  for (int64_t i = tile.begin + tile.warp; i < tile.end; i += kWarps * kRows) {
    rows::Pack<kEach> v[kRows] = {};
    float count = 0;
#pragma unroll
    for (int r = 0; r < kRows; ++r)
      if (i + r * kWarps < tile.end) v[r] = rows::load<kEach>(x + (i + r * kWarps) * c + tile.j), ++count;
    for (int e = 0; e < kEach; ++e) {
      rows::Moments m{count, 0, 0};
      for (const auto& row : v) m.mean += row.v[e];
      m.mean /= count;
#pragma unroll
      for (int r = 0; r < kRows; ++r)
        m.squares += float(r) < count ? (v[r].v[e] - m.mean) * (v[r].v[e] - m.mean) : 0;
      own[e] = own[e].with(m);
    }
  }
  for (int e = 0; e < kEach; ++e) part[tile.warp][tile.lane][e] = own[e];
  __syncthreads();
  if (tile.warp >= kEach || tile.j + tile.warp >= c) return;
  rows::Moments all = rows::Moments::none();  // warp e has each lane's e-th channel
  for (int w = 0; w < kWarps; ++w) all = all.with(part[w][tile.lane][tile.warp]);
  found[blockIdx.y * c + tile.j + tile.warp] = all;
}

/// Block j merges the moments of channel j.
__global__ void __launch_bounds__(32)
    join_moments(int64_t parts, int64_t c, const rows::Moments* __restrict__ found, Args a) {
  const int64_t j = blockIdx.x;
  rows::Moments all = rows::Moments::none();
#pragma unroll 4
  for (int64_t p = threadIdx.x; p < parts; p += 32) all = all.with(found[p * c + j]);
  all = rows::join_lanes(all);
  if (threadIdx.x > 0) return;
  const float variance = all.squares / all.count, unbiased = all.count > 1 ? all.count / (all.count - 1) : 1;
  a.mean[j] = all.mean;
  a.rstd[j] = 1 / sqrtf(variance + *a.epsilon);
  a.running_mean[j] += *a.momentum * (all.mean - a.running_mean[j]);
  a.running_var[j] += *a.momentum * (unbiased * variance - a.running_var[j]);
}

template <int kEach>
__global__ void __launch_bounds__(kThreads)
    write_columns(int64_t n, int64_t each, int64_t c, const float* __restrict__ x,
                  const float* __restrict__ gamma, const float* __restrict__ beta,
                  const float* __restrict__ mean_of, const float* __restrict__ rstd_of,
                  float* __restrict__ y) {
  const rows::Tile<kEach> tile(n, each, c);
  if (tile.j >= c) return;
  const auto scale = rows::load<kEach>(gamma + tile.j), shift = rows::load<kEach>(beta + tile.j);
  const auto mean = rows::load<kEach>(mean_of + tile.j), rstd = rows::load<kEach>(rstd_of + tile.j);
  for (int64_t i = tile.end - 1 - tile.warp; i >= tile.begin; i -= kWarps * kRows) {
    rows::Pack<kEach> v[kRows] = {};
#pragma unroll
    for (int r = 0; r < kRows; ++r)
      if (i - r * kWarps >= tile.begin) v[r] = rows::load<kEach>(x + (i - r * kWarps) * c + tile.j);
#pragma unroll
    for (int r = 0; r < kRows; ++r) {
      for (int e = 0; e < kEach; ++e)
        v[r].v[e] = scale.v[e] * ((v[r].v[e] - mean.v[e]) * rstd.v[e]) + shift.v[e];
      if (i - r * kWarps >= tile.begin) rows::store<kEach>(y + (i - r * kWarps) * c + tile.j, v[r]);
    }
  }
}

template <int kEach>
void run_columns(const Args& x) {
  const int64_t n = x.shape.n, c = x.shape.c;
  const unsigned across = rows::blocks_of(c, 32 * kEach);
  const rows::Chunks chunks = rows::chunks_of(n, across, kWarps * kRows, cuda::device().multiprocessors);
  const cuda::Scratch found(sizeof(rows::Moments) * size_t(chunks.count * c));
  const dim3 grid(across, unsigned(chunks.count));
  cuda::launch(column_moments<kEach>, grid, kThreads, 0, n, chunks.each, c, x.x, found.as<rows::Moments>());
  cuda::launch(join_moments, unsigned(c), 32, 0, chunks.count, c, found.as<rows::Moments>(), x);
  cuda::launch(write_columns<kEach>, grid, kThreads, 0, n, chunks.each, c, x.x, x.gamma, x.beta, x.mean,
               x.rstd, x.y);
}

void run(const Args& x) {
  const int64_t c = x.shape.c;
  if (c == 0) return;
  if (x.shape.hw > 1) {
    cuda::launch(normalize, unsigned(c), kThreads, 0, x);
    return;
  }
  const bool fours = c % 4 == 0 && rows::aligned(x.x, x.gamma, x.beta, x.y, x.mean, x.rstd);
  fours ? run_columns<4>(x) : run_columns<1>(x);
}

KLAB_VARIANT(BatchnormFwd, {.run = run,
                            .parent = "02_block_per_channel",
                            .tiles = {32, 128, kThreads},
                            .expect = {.shape = {8192, 1024, 1}, .over_parent = 9},
                            .when = {{8192, 1024, 1}, "channels without positions"}});

}  // namespace
}  // namespace klab
