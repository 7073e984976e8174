// scan.cuda.02_three_kernels: sums of tiles, a scan of these, then the tiles.
//
// CHANGE    a block adds up a tile of 8,192 elements and leaves the sum; the parent's block scans these sums, 8,192 of them at 2^26
//           elements; then each block scans its tile from the sum before it.
// EXPECT    12 bytes an element in place of 8, at the rate of memory in place of one multiprocessor's: some two hundred times the
//           parent at 2^26 elements.
// NEEDS     4 bytes a tile.
#include "harness/core/registrar.h"
#include "kernels/common/cuda.h"
#include "kernels/common/look_back.h"
#include "reference/scan/scan.h"

namespace klab {
namespace {

constexpr int kThreads = 512, kRows = 16, kTile = kThreads * kRows;
constexpr int kAlone = 1024;  // threads of the block that scans the sums

struct Add {
  __device__ unsigned operator()(unsigned a, unsigned b) const { return a + b; }
};

__global__ void __launch_bounds__(kThreads) add_up(const uint32_t* x, int64_t n, uint32_t* sums) {
  __shared__ unsigned of_warps[kThreads / 32];
  const int64_t from = int64_t(blockIdx.x) * kTile + threadIdx.x;
  unsigned own = 0;
#pragma unroll
  for (int row = 0; row < kRows; ++row)
    if (from + row * kThreads < n) own += x[from + row * kThreads];
  own = __reduce_add_sync(~0U, own);
  if (threadIdx.x % 32 == 0) of_warps[threadIdx.x / 32] = own;
  __syncthreads();
  if (threadIdx.x != 0) return;
  unsigned sum = 0;
  for (int w = 0; w < kThreads / 32; ++w) sum += of_warps[w];
  sums[blockIdx.x] = sum;
}

/// In place: a sum becomes that of all before it.
__global__ void __launch_bounds__(kAlone) scan_sums(uint32_t* x, int64_t n) {
  __shared__ unsigned sums[kAlone / 32];
  const int thread = int(threadIdx.x), lane = thread % 32, warp = thread / 32;
  unsigned before = 0;
  for (int64_t base = 0; base < n; base += kAlone) {
    const int64_t i = base + thread;
    const unsigned own = i < n ? x[i] : 0, up_to = cuda::scan_warp(own, Add{});
    if (lane == 31) sums[warp] = up_to;
    __syncthreads();
    if (warp == 0) sums[lane] = cuda::scan_warp(sums[lane], Add{});
    __syncthreads();
    if (i < n) x[i] = before + (warp > 0 ? sums[warp - 1] : 0) + up_to - own;
    before += sums[kAlone / 32 - 1];
    __syncthreads();  // sums are read until here
  }
}

__global__ void __launch_bounds__(kThreads)
    scan_tile(const uint32_t* x, uint32_t* y, int64_t n, const uint32_t* before) {
  __shared__ unsigned of_warps[kThreads / 32];
  const int lane = int(threadIdx.x) % 32, warp = int(threadIdx.x) / 32;
  const int64_t from = int64_t(blockIdx.x) * kTile + warp * (kRows * 32) + lane;  // a row is 32 neighbors
  unsigned sums[kRows], own = 0;
#pragma unroll
  for (int row = 0; row < kRows; ++row) sums[row] = from + 32 * row < n ? x[from + 32 * row] : 0;
#pragma unroll
  for (int row = 0; row < kRows; ++row) {
    const unsigned up_to = cuda::scan_warp(sums[row], Add{});
    sums[row] = own + up_to - sums[row];
    own += __shfl_sync(~0U, up_to, 31);
  }
  if (lane == 0) of_warps[warp] = own;
  __syncthreads();
  unsigned start = before[blockIdx.x];
  for (int w = 0; w < warp; ++w) start += of_warps[w];
#pragma unroll
  for (int row = 0; row < kRows; ++row)
    if (from + 32 * row < n) y[from + 32 * row] = start + sums[row];
}

void run(const Scan::Args<float>& x) {
  if (x.shape.n == 0) return;
  const int64_t tiles = (x.shape.n + kTile - 1) / kTile;
  const cuda::Scratch scratch(size_t(tiles) * sizeof(uint32_t));
  auto* const sums = scratch.as<uint32_t>();
  cuda::launch(add_up, unsigned(tiles), kThreads, 0, x.x, x.shape.n, sums);
  cuda::launch(scan_sums, 1U, kAlone, 0, sums, tiles);
  cuda::launch(scan_tile, unsigned(tiles), kThreads, 0, x.x, x.y, x.shape.n, sums);
}

KLAB_VARIANT(Scan, {.run = run,
                    .parent = "01_one_block",
                    .tiles = {32, kThreads, kTile},
                    .expect = {.shape = {1 << 26}, .over_parent = 100}});

}  // namespace
}  // namespace klab
