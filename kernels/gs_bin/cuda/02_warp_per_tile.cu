// gs_bin.cuda.02_warp_per_tile: 32 Gaussians at a time, put in order by a ballot.
//
// CHANGE    a warp has a tile: each lane tests another Gaussian, a ballot collects the visible ones, and a
//           lane's place in the list is the number of ones below its own.
// EXPECT    as many requests as before for 32 times the Gaussians, if these lie in any order; and 32 times
//           the threads.
// NUMERICS  as the parent.
// NEEDS     memory for a count of each tile.
#include "harness/core/registrar.h"
#include "kernels/common/cuda.h"
#include "reference/gs_bin/gs_bin.h"

namespace klab {
namespace {

constexpr int kThreads = 64, kWarps = kThreads / 32;

__device__ bool reaches(float mean, float extent, int64_t tile) {
  return floorf((mean - extent) / 16) <= float(tile) && floorf((mean + extent) / 16) >= float(tile);
}

__device__ bool shows(const GsBin::Args<float>& x, int64_t columns, int64_t i, int64_t t) {
  const int64_t n = x.shape.n;
  return x.extent[i] > 0 && x.extent[n + i] > 0 && reaches(x.mean[i], x.extent[i], t % columns) &&
         reaches(x.mean[n + i], x.extent[n + i], t / columns);
}

/// Goes through all Gaussians; writes those that show from place `to` on where that is not negative. Returns their number.
__device__ int list(const GsBin::Args<float>& x, int64_t columns, int64_t t, int64_t to) {
  const int lane = int(threadIdx.x % 32);
  int found = 0;
  for (int64_t first = 0; first < x.shape.n; first += 32) {
    const int i = first + lane < x.shape.n ? x.order[first + lane] : -1;
    const bool mine = i >= 0 && shows(x, columns, i, t);
    const unsigned all = __ballot_sync(~0U, mine);
    const int64_t place = to + found + __popc(all & ((1U << lane) - 1));
    if (to >= 0 && mine && place < x.shape.pairs) x.id[place] = i;
    found += __popc(all);
  }
  return found;
}

__global__ void __launch_bounds__(kThreads)
    count(GsBin::Args<float> x, int64_t columns, int64_t tiles, int* counts) {
  const int64_t t = int64_t(blockIdx.x) * kWarps + threadIdx.x / 32;
  if (t >= tiles) return;
  const int found = list(x, columns, t, -1);
  if (threadIdx.x % 32 == 0) counts[t] = found;
}

/// Counts become the places where the lists begin, uncut: 32 tiles at a time, scanned by shuffles.
__global__ void add_up(GsBin::Args<float> x, int64_t tiles, int* counts) {
  const int lane = int(threadIdx.x), room = int(x.shape.pairs);
  int before = 0;
  for (int64_t first = 0; first < tiles; first += 32) {
    const int own = first + lane < tiles ? counts[first + lane] : 0;
    int sum = own;
    for (int by = 1; by < 32; by *= 2) {
      const int other = __shfl_up_sync(~0U, sum, by);
      if (lane >= by) sum += other;
    }
    const int begin = before + sum - own;
    if (first + lane < tiles) {
      counts[first + lane] = begin;
      x.tile_begin[first + lane] = begin < room ? begin : room;
    }
    before += __shfl_sync(~0U, sum, 31);
  }
  if (lane != 0) return;
  x.tile_begin[tiles] = before < room ? before : room;
  x.needed[0] = before;
}

__global__ void __launch_bounds__(kThreads)
    write(GsBin::Args<float> x, int64_t columns, int64_t tiles, const int* begin) {
  const int64_t t = int64_t(blockIdx.x) * kWarps + threadIdx.x / 32;
  if (t < tiles) list(x, columns, t, begin[t]);
}

__global__ void __launch_bounds__(kThreads) fill_rest(GsBin::Args<float> x) {
  const int64_t k = x.needed[0] + int64_t(blockIdx.x) * kThreads + threadIdx.x;
  if (k < x.shape.pairs) x.id[k] = int(x.shape.n);
}

unsigned blocks(int64_t count, int each) { return unsigned((count + each - 1) / each); }

void run(const GsBin::Args<float>& x) {
  const int64_t tiles = x.shape.tiles(), columns = x.shape.columns();
  const cuda::Scratch counts(size_t(tiles) * sizeof(int));
  cuda::launch(count, blocks(tiles, kWarps), kThreads, 0, x, columns, tiles, counts.as<int>());
  cuda::launch(add_up, 1U, 32, 0, x, tiles, counts.as<int>());
  cuda::launch(write, blocks(tiles, kWarps), kThreads, 0, x, columns, tiles, counts.as<int>());
  if (x.shape.pairs > 0) cuda::launch(fill_rest, blocks(x.shape.pairs, kThreads), kThreads, 0, x);
}

KLAB_VARIANT(GsBin, {.run = run, .parent = "01_thread_per_tile", .tiles = {32, kThreads}});

}  // namespace
}  // namespace klab
