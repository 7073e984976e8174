// bias_add_bwd.cuda.03_by_shape: count blocks first.
//
// CHANGE    behind a matrix product as many blocks as the device needs to be full, whatever c is. A block has 128 columns of some
//           rows: a warp has one row of them, 16 bytes a lane, and four such loads are in flight. Each leaves one partial sum a
//           column, and a second launch joins these, 32 warps for 32 columns. Images go the parent's way.
// EXPECT    8192 rows of 1,024 are 528 blocks where there were 32 on 132 multiprocessors, with one load of 4 bytes a thread in
//           flight: at least 7 times the parent.
// NUMERICS  a thread adds up every 8th row of its block, then tree order; for images as the parent.
// NEEDS     for loads of 16 bytes channels of a multiple of four and arrays that begin at multiples of 16 bytes.
// SASS      LDG.128 STG.128; no LDL STL CALL
#include "harness/core/registrar.h"
#include "kernels/common/cuda.h"
#include "kernels/common/rows/by_shape.h"
#include "kernels/common/rows/columns.h"
#include "kernels/common/rows/device.h"
#include "reference/bias_add_bwd/bias_add_bwd.h"

namespace klab {
namespace {

constexpr int kThreads = 256, kWarps = kThreads / 32;
constexpr int kRows = 4;  // loads that a thread has in flight

#include "kernels/bias_add_bwd/cuda/02_block_per_channel-inl.h"

/// Block (b, k) has 32·kEach columns of `each` rows. partial: [gridDim.y][c].
template <int kEach>
__global__ void __launch_bounds__(kThreads)
    columns(int64_t n, int64_t each, int64_t c, const float* __restrict__ d_y, float* __restrict__ partial) {
  __shared__ rows::Pack<kEach> part[rows::kTileWarps][32];
  const rows::Tile<kEach> tile(n, each, c);
  rows::Pack<kEach> sum = {};
  for (int64_t i = tile.begin + tile.warp; i < tile.end; i += kWarps * kRows) {
    rows::Pack<kEach> v[kRows] = {};
#pragma unroll
    for (int r = 0; r < kRows; ++r)
      if (i + r * kWarps < tile.end) v[r] = rows::load<kEach>(d_y + (i + r * kWarps) * c + tile.j);
    for (const auto& row : v)
      for (int e = 0; e < kEach; ++e) sum.v[e] += row.v[e];
  }
  rows::store_sums(tile, sum, part, c, partial + blockIdx.y * c);
}

void run(const BiasAddBwd::Args<float>& x) {
  const auto [n, c, hw] = x.shape;
  if (c == 0) return;
  if (hw != 1) {
    cuda::launch(positions, unsigned(c), kThreads, 0, x);
    return;
  }
  const bool fours = c % 4 == 0 && rows::aligned(x.d_y, x.d_bias);
  const unsigned across = rows::blocks_of(c, fours ? 128 : 32);
  const rows::Chunks chunks = rows::chunks_of(n, across, kWarps * kRows, cuda::device().multiprocessors);
  const cuda::Scratch partial(chunks.count > 1 ? sizeof(float) * size_t(chunks.count * c) : 0);
  float* const sums = chunks.count > 1 ? partial.as<float>() : x.d_bias;
  cuda::launch(fours ? columns<4> : columns<1>, dim3(across, unsigned(chunks.count)), kThreads, 0, n,
               chunks.each, c, x.d_y, sums);
  if (chunks.count > 1) rows::launch_join(chunks.count, c, sums, x.d_bias, nullptr);
}

KLAB_VARIANT(BiasAddBwd, {.run = run,
                          .parent = "02_block_per_channel",
                          .forward = "02_block_per_run",
                          .tiles = {kWarps * kRows, 32, 128},
                          .expect = {.shape = {8192, 1024, 1}, .over_parent = 7}});

}  // namespace
}  // namespace klab
