// scan.cuda.03_look_back: one pass.
//
// CHANGE    a block takes a tile by a ticket, publishes the tile's sum and finds the sum of all tiles before it in the words that
//           these published (kernels/common/look_back.h). A thread loads eight times four neighbors.
// EXPECT    8 bytes an element in place of 12, and one launch after the words are cleared: two thirds of the parent's time at best.
//           Looking back is a wait a tile, so tiles are large: 16,384 elements, two blocks a multiprocessor.
// NEEDS     8 bytes a tile; tensors that begin on 16 bytes, as cudaMalloc returns them: others go one element at a time.
#include "harness/core/registrar.h"
#include "kernels/common/cuda.h"
#include "kernels/common/look_back.h"
#include "reference/scan/scan.h"

namespace klab {
namespace {

constexpr int kThreads = 512, kWarps = kThreads / 32, kRows = 8, kTile = kThreads * kRows * 4;

struct Add {
  __device__ unsigned operator()(unsigned a, unsigned b) const { return a + b; }
};

__global__ void __launch_bounds__(kThreads) scan(const uint32_t* __restrict__ x, uint32_t* __restrict__ y,
                                                 int64_t n, bool aligned, cuda::LookBack back) {
  __shared__ unsigned of_warps[kWarps];
  const int lane = int(threadIdx.x) % 32, warp = int(threadIdx.x) / 32;
  const unsigned tile = back.take_tile();
  const int64_t from = int64_t(tile) * kTile + warp * (kRows * 128) + 4 * lane;  // a row is 128 neighbors
  const bool fours = aligned && int64_t(tile + 1) * kTile <= n;
  uint4 v[kRows];
#pragma unroll
  for (int row = 0; row < kRows; ++row) {
    const int64_t i = from + 128 * row;
    if (fours)
      v[row] = *reinterpret_cast<const uint4*>(x + i);
    else
      v[row] = make_uint4(i < n ? x[i] : 0, i + 1 < n ? x[i + 1] : 0, i + 2 < n ? x[i + 2] : 0,
                          i + 3 < n ? x[i + 3] : 0);
  }
  unsigned sums[kRows], own = 0;  // of a thread's four, then of all elements of the warp before them
#pragma unroll
  for (int row = 0; row < kRows; ++row) {
    const unsigned four = v[row].x + v[row].y + v[row].z + v[row].w;
    sums[row] = cuda::scan_warp(four, Add{}) - four;
    v[row].w = four;
  }
#pragma unroll
  for (int row = 0; row < kRows; ++row) {
    const unsigned of_row = __shfl_sync(~0U, sums[row] + v[row].w, 31);
    sums[row] += own;
    own += of_row;
  }
  if (lane == 0) of_warps[warp] = own;
  __syncthreads();
  if (warp == 0) {
    const unsigned up_to = cuda::scan_warp(lane < kWarps ? of_warps[lane] : 0, Add{});
    const unsigned before = back.sum_before(tile, __shfl_sync(~0U, up_to, 31), Add{});
    const unsigned lower = __shfl_up_sync(~0U, up_to, 1);
    if (lane < kWarps) of_warps[lane] = lane == 0 ? before : before + lower;
  }
  __syncthreads();
  const unsigned before_warp = of_warps[warp];
#pragma unroll
  for (int row = 0; row < kRows; ++row) {
    const int64_t i = from + 128 * row;
    const unsigned a = before_warp + sums[row], b = a + v[row].x, c = b + v[row].y, d = c + v[row].z;
    if (fours) {
      *reinterpret_cast<uint4*>(y + i) = make_uint4(a, b, c, d);
      continue;
    }
    if (i < n) y[i] = a;
    if (i + 1 < n) y[i + 1] = b;
    if (i + 2 < n) y[i + 2] = c;
    if (i + 3 < n) y[i + 3] = d;
  }
}

bool on_sixteen(const void* p) { return reinterpret_cast<uintptr_t>(p) % 16 == 0; }

void run(const Scan::Args<float>& x) {
  if (x.shape.n == 0) return;
  const int64_t tiles = (x.shape.n + kTile - 1) / kTile;
  const cuda::Scratch scratch(cuda::LookBack::bytes(tiles));
  const cuda::LookBack back{scratch.as<unsigned long long>()};
  cuda::fill_zero(back.memory, cuda::LookBack::bytes(tiles));
  cuda::launch(scan, unsigned(tiles), kThreads, 0, x.x, x.y, x.shape.n, on_sixteen(x.x) && on_sixteen(x.y),
               back);
}

KLAB_VARIANT(Scan, {.run = run,
                    .parent = "02_three_kernels",
                    .tiles = {4, 32, 128, kThreads, kTile},
                    .expect = {.shape = {1 << 26}, .over_parent = 1.1}});

}  // namespace
}  // namespace klab
