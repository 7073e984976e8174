// sample_begin.cuda.03_look_back: many blocks, one pass.
//
// CHANGE   a block has 2,048 rays, all loaded before the first sum, and finds the sum of the rays before them in the
//          words of earlier blocks (kernels/common/look_back.h). Sums stop at capacity + 1, so that 32 bits hold them.
//          Dummy rays get their share in the same pass: their tile's sum is already that of all rays.
// EXPECT   the parent's 257 rounds of two loads, two barriers and 48 shuffles in a row at 262,145 rays become one: an
//          eighth of its time at most. At 10,752 rays, 11 rounds, clearing the words takes what the scan gains.
// NEEDS    8 bytes a tile.
// SASS      ATOMG.ADD LDG.64.STRONG STG.64.STRONG; no LDL STL
#include "harness/core/registrar.h"
#include "kernels/common/cuda.h"
#include "kernels/common/look_back.h"
#include "reference/sample_begin/sample_begin.h"

namespace klab {
namespace {

constexpr int kThreads = 512, kWarps = kThreads / 32, kRows = 4, kTile = kThreads * kRows;

/// The contract's arguments, in numbers of 32 bits.
struct Rays {
  int rays, first, most;
  unsigned capacity;
  bool padded;
  const int32_t *ray_begin, *limit, *count;
  int32_t* begin;
  cuda::LookBack back;
};

__global__ void __launch_bounds__(kThreads) scan(Rays x) {
  __shared__ unsigned of_warps[kWarps], before_tile, of_tile, last;
  const int lane = int(threadIdx.x) % 32, warp = int(threadIdx.x) / 32;
  const unsigned tile = x.back.take_tile();
  const cuda::AddUpTo add{x.capacity};
  const int from = int(tile) * kTile + warp * (kRows * 32) + lane;  // of 32 rays in a row, one a lane
  unsigned sums[kRows], own = 0;
#pragma unroll
  for (int row = 0; row < kRows; ++row) {
    const int r = from + 32 * row;
    int n = 0;
    if (r < x.rays) n = min(x.limit[r], x.ray_begin[r + 1] - x.ray_begin[r]) - x.first;
    sums[row] = min(unsigned(max(min(n, x.most), 0)), x.capacity + 1);
  }
#pragma unroll
  for (int row = 0; row < kRows; ++row) sums[row] = cuda::scan_warp(sums[row], add);
#pragma unroll
  for (int row = 0; row < kRows; ++row) {
    sums[row] = add(own, sums[row]);
    own = __shfl_sync(~0U, sums[row], 31);
  }
  if (lane == 0) of_warps[warp] = own;
  __syncthreads();
  if (warp == 0) {
    const unsigned up_to = cuda::scan_warp(lane < kWarps ? of_warps[lane] : 0, add);
    const unsigned all = __shfl_sync(~0U, up_to, 31), before = x.back.sum_before(tile, all, add);
    const unsigned lower = __shfl_up_sync(~0U, up_to, 1);
    if (lane < kWarps) of_warps[lane] = lane == 0 ? before : add(before, lower);
    if (lane == 0) before_tile = last = before, of_tile = all;
  }
  __syncthreads();
  const unsigned before_warp = of_warps[warp];
#pragma unroll
  for (int row = 0; row < kRows; ++row) sums[row] = add(before_warp, sums[row]);
  if (!add.fits(before_tile)) {
    if (threadIdx.x == 0) last = x.back.wait_for_end();
    __syncthreads();
  } else if (!add.fits(add(before_tile, of_tile))) {
#pragma unroll
    for (int row = 0; row < kRows; ++row)
      if (add.fits(sums[row])) atomicMax(&last, sums[row]);
    __syncthreads();
    if (threadIdx.x == 0) x.back.publish_end(last);
  }
  if (tile == 0 && threadIdx.x == 0) x.begin[0] = 0;
  const int live = x.padded ? *x.count : x.rays;
#pragma unroll
  for (int row = 0; row < kRows; ++row) {
    const int r = from + 32 * row;
    if (r >= x.rays) continue;
    unsigned at = add.fits(sums[row]) ? sums[row] : last;
    if (r >= live)
      at += unsigned(uint64_t(x.capacity - at) * unsigned(r + 1 - live) / unsigned(x.rays - live));
    x.begin[r + 1] = int32_t(at);
  }
}

void run(const SampleBegin::Args<float>& x) {
  const auto [rays, first, most, capacity, padded] = x.shape;
  const int64_t tiles = rays / kTile + 1, largest = INT32_MAX;
  const cuda::Scratch scratch(cuda::LookBack::bytes(tiles));
  const cuda::LookBack back{scratch.as<unsigned long long>()};
  cuda::fill_zero(back.memory, cuda::LookBack::bytes(tiles));
  const Rays a{.rays = int(rays),
               .first = int(first < largest ? first : largest),
               .most = int(most < largest ? most : largest),
               .capacity = unsigned(capacity),
               .padded = padded != 0,
               .ray_begin = x.ray_begin,
               .limit = x.limit,
               .count = x.count,
               .begin = x.begin,
               .back = back};
  cuda::launch(scan, dim3(unsigned(tiles)), dim3(kThreads), 0, a);
}

KLAB_VARIANT(SampleBegin, {.run = run,
                           .parent = "02_block_scan",
                           .tiles = {32, kThreads, kTile},
                           .expect = {.shape = {262145, 0, 8, 1 << 20, 1}, .over_parent = 8},
                           .supported = [](const SampleBegin::Shape& s, const Host&) -> std::string {
                             return s.rays > INT32_MAX - kTile ? "more than 2^31 rays" : "";
                           }});

}  // namespace
}  // namespace klab
