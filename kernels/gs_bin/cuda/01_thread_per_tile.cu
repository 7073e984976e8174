// gs_bin.cuda.01_thread_per_tile: one thread per tile, which tests all Gaussians.
//
// CHANGE    the naive loop, twice: a thread counts its tile's Gaussians, one thread adds the counts up, and a
//           thread writes its tile's list.
// EXPECT    all lanes read the same Gaussian, at the place given by `order`: five scattered words each, tiles
//           x Gaussians times. As many threads as tiles are few for a GPU.
// NUMERICS  float sums and quotients, as in the contract.
// NEEDS     memory for a count of each tile.
#include "harness/core/registrar.h"
#include "kernels/common/cuda.h"
#include "reference/gs_bin/gs_bin.h"

namespace klab {
namespace {

constexpr int kThreads = 64;

__device__ bool reaches(float mean, float extent, int64_t tile) {
  return floorf((mean - extent) / 16) <= float(tile) && floorf((mean + extent) / 16) >= float(tile);
}

__device__ bool shows(const GsBin::Args<float>& x, int64_t columns, int64_t i, int64_t t) {
  const int64_t n = x.shape.n;
  return x.extent[i] > 0 && x.extent[n + i] > 0 && reaches(x.mean[i], x.extent[i], t % columns) &&
         reaches(x.mean[n + i], x.extent[n + i], t / columns);
}

__global__ void __launch_bounds__(kThreads)
    count(GsBin::Args<float> x, int64_t columns, int64_t tiles, int* counts) {
  const int64_t t = int64_t(blockIdx.x) * kThreads + threadIdx.x;
  if (t >= tiles) return;
  int found = 0;
  for (int64_t k = 0; k < x.shape.n; ++k) found += shows(x, columns, x.order[k], t) ? 1 : 0;
  counts[t] = found;
}

/// Counts become the places where the lists begin, uncut.
__global__ void add_up(GsBin::Args<float> x, int64_t tiles, int* counts) {
  int sum = 0;
  for (int64_t t = 0; t < tiles; ++t) {
    const int own = counts[t];
    counts[t] = sum;
    x.tile_begin[t] = sum < x.shape.pairs ? sum : int(x.shape.pairs);
    sum += own;
  }
  x.tile_begin[tiles] = sum < x.shape.pairs ? sum : int(x.shape.pairs);
  x.needed[0] = sum;
}

__global__ void __launch_bounds__(kThreads)
    write(GsBin::Args<float> x, int64_t columns, int64_t tiles, const int* begin) {
  const int64_t t = int64_t(blockIdx.x) * kThreads + threadIdx.x;
  if (t >= tiles) return;
  int64_t to = begin[t];
  for (int64_t k = 0; k < x.shape.n && to < x.shape.pairs; ++k) {
    const int i = x.order[k];
    if (shows(x, columns, i, t)) x.id[to++] = i;
  }
}

__global__ void __launch_bounds__(kThreads) fill_rest(GsBin::Args<float> x) {
  const int64_t k = x.needed[0] + int64_t(blockIdx.x) * kThreads + threadIdx.x;
  if (k < x.shape.pairs) x.id[k] = int(x.shape.n);
}

unsigned blocks(int64_t count) { return unsigned((count + kThreads - 1) / kThreads); }

void run(const GsBin::Args<float>& x) {
  const int64_t tiles = x.shape.tiles(), columns = x.shape.columns();
  const cuda::Scratch counts(size_t(tiles) * sizeof(int));
  cuda::launch(count, blocks(tiles), kThreads, 0, x, columns, tiles, counts.as<int>());
  cuda::launch(add_up, 1U, 1, 0, x, tiles, counts.as<int>());
  cuda::launch(write, blocks(tiles), kThreads, 0, x, columns, tiles, counts.as<int>());
  if (x.shape.pairs > 0) cuda::launch(fill_rest, blocks(x.shape.pairs), kThreads, 0, x);
}

KLAB_VARIANT(GsBin, {.run = run, .tiles = {kThreads}});

}  // namespace
}  // namespace klab
