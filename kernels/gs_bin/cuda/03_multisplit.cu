// gs_bin.cuda.03_multisplit: each Gaussian goes to its tiles; a warp keeps the order of its Gaussians.
//
// CHANGE    no tile tests a Gaussian that it does not list. A warp takes a chunk of `order` and spreads its entries over its
//           lanes, in order. It counts them for each tile; counts of chunks and tiles become places in one pass
//           (kernels/common/count_places.h); then the warp spreads the entries once more and writes them. Lanes with one tile
//           find their order by ballots, and the first of them advances the tile's place by all.
// EXPECT    50,000 boxes are read twice, by 5 sectors from L2: 16 MB. 391 chunks of 625 tiles are 1 MB of counts, cleared,
//           read twice and written once; 150,000 entries are one red, one atomic and one store each. Some 6 us, and a warp's
//           chain of 15 atomics is 6 us more; four launches. The parent tests 31 million pairs twice.
// NUMERICS  as the parent.
// NEEDS     4 bytes a chunk and tile, at most 2^24 of them: chunks get longer where tiles are many.
// SASS      REDG.ADD ATOMG.ADD LDG.STRONG STG.STRONG; no LDL STL CALL
#include "harness/core/registrar.h"
#include "kernels/common/count_places.h"
#include "kernels/common/cuda.h"
#include "reference/gs_bin/gs_bin.h"

namespace klab {
namespace {

constexpr int kThreads = 128, kWarps = kThreads / 32, kLeastChunk = 128;
constexpr int64_t kMostCounts = 1 << 24;

struct Split {
  int columns, rows, tiles, bits;  // bits of a tile's number
  int chunks, each;                // Gaussians of a chunk
  unsigned* counts;                // [chunks,tiles]; then where the chunk's next entry of the tile goes
};

__device__ __forceinline__ int tile_of(float at, int count) {
  return int(fminf(fmaxf(floorf(at / 16), -1.0F), float(count)));
}

/// Calls body(tile, id, listed) for each entry of a chunk, a lane an entry; `listed` is false behind the last.
template <class Body>
__device__ __forceinline__ void each_entry(const GsBin::Args<float>& x, const Split& s, int chunk,
                                           Body body) {
  const int64_t n = x.shape.n;
  const unsigned lane = threadIdx.x % 32, begin = unsigned(chunk) * unsigned(s.each);
  const unsigned end = unsigned(min(n, int64_t(begin) + s.each));
  for (unsigned first = begin; first < end; first += 32) {
    int id = 0, corner = 0, wide = 0, count = 0;
    if (first + lane < end) {
      id = x.order[first + lane];
      const float at[2] = {x.mean[id], x.mean[n + id]}, by[2] = {x.extent[id], x.extent[n + id]};
      const int left = max(tile_of(at[0] - by[0], s.columns), 0),
                top = max(tile_of(at[1] - by[1], s.rows), 0);
      wide = min(tile_of(at[0] + by[0], s.columns) + 1, s.columns) - left;
      corner = top * s.columns + left;
      if (by[0] > 0 && by[1] > 0) count = wide * (min(tile_of(at[1] + by[1], s.rows) + 1, s.rows) - top);
    }
    const int sum = int(cuda::scan_warp(unsigned(count), [](unsigned a, unsigned b) { return a + b; }));
    const int total = __shfl_sync(~0U, sum, 31);
    for (int entry = int(lane); entry - int(lane) < total; entry += 32) {
      int owner = 0;  // lanes whose entries all lie before this one
      for (int step = 16; step > 0; step /= 2)
        if (__shfl_sync(~0U, sum, owner + step - 1) <= entry) owner += step;
      const unsigned across = unsigned(max(__shfl_sync(~0U, wide, owner), 1));
      const unsigned place = unsigned(entry - __shfl_sync(~0U, sum - count, owner)), row = place / across;
      const int tile = __shfl_sync(~0U, corner, owner) + int(row) * s.columns + int(place - row * across);
      body(tile, __shfl_sync(~0U, id, owner), entry < total);
    }
  }
}

__global__ void __launch_bounds__(kThreads) count(GsBin::Args<float> x, Split s) {
  const int chunk = int(blockIdx.x) * kWarps + int(threadIdx.x) / 32;
  if (chunk >= s.chunks) return;
  each_entry(x, s, chunk, [&](int tile, int, bool listed) {
    if (listed) atomicAdd(&s.counts[chunk * s.tiles + tile], 1U);
  });
}

__global__ void __launch_bounds__(cuda::kPlacers)
    begin_lists(GsBin::Args<float> x, Split s, cuda::LookBack back) {
  cuda::counts_to_places(s.counts, s.chunks, s.tiles, back, [&](int tile, unsigned begin, unsigned own) {
    const auto cut = [&](unsigned at) { return int(min(int64_t(at), x.shape.pairs)); };
    x.tile_begin[tile] = cut(begin);
    if (tile < s.tiles - 1) return;
    x.tile_begin[s.tiles] = cut(begin + own);
    x.needed[0] = int(begin + own);
  });
}

__global__ void __launch_bounds__(kThreads) place(GsBin::Args<float> x, Split s) {
  const int chunk = int(blockIdx.x) * kWarps + int(threadIdx.x) / 32, lane = int(threadIdx.x) % 32;
  if (chunk < s.chunks)
    each_entry(x, s, chunk, [&](int tile, int id, bool listed) {
      unsigned alike = __ballot_sync(~0U, listed);
      for (int bit = 0; bit < s.bits; ++bit) {
        const bool set = (tile >> bit & 1) != 0;
        const unsigned others = __ballot_sync(~0U, set);
        alike &= set ? others : ~others;
      }
      const int rank = __popc(alike & ((1U << lane) - 1));
      unsigned to = 0;
      if (listed && rank == 0) to = atomicAdd(&s.counts[chunk * s.tiles + tile], unsigned(__popc(alike)));
      to = __shfl_sync(~0U, to, listed ? __ffs(int(alike)) - 1 : lane) + unsigned(rank);
      if (listed && to < x.shape.pairs) x.id[to] = id;
    });
  const int64_t threads = int64_t(gridDim.x) * kThreads,
                thread = int64_t(blockIdx.x) * kThreads + threadIdx.x;
#pragma unroll 1
  for (int64_t k = unsigned(x.needed[0]) + thread; k < x.shape.pairs; k += threads) x.id[k] = int(x.shape.n);
}

void run(const GsBin::Args<float>& x) {
  const int64_t n = x.shape.n, tiles = x.shape.tiles(), blocks = (tiles + 31) / 32;
  const auto over = [](int64_t a, int64_t b) { return (a + b - 1) / b; };
  const int64_t most = kMostCounts / tiles > 1 ? kMostCounts / tiles : 1;
  int64_t each = over(over(n, most), 32) * 32;
  if (each < kLeastChunk) each = kLeastChunk;
  const int64_t chunks = over(n, each), counts = chunks * tiles;
  int bits = 0;
  while (int64_t(1) << bits < tiles) ++bits;
  const cuda::Scratch scratch(cuda::LookBack::bytes(blocks) + size_t(counts) * sizeof(unsigned));
  const cuda::LookBack back{scratch.as<unsigned long long>()};
  const Split s{int(x.shape.columns()),
                int(x.shape.rows()),
                int(tiles),
                bits,
                int(chunks),
                int(each),
                reinterpret_cast<unsigned*>(back.memory + blocks + 2)};
  cuda::fill_zero(scratch.as<char>(), cuda::LookBack::bytes(blocks) + size_t(counts) * sizeof(unsigned));
  if (n > 0) cuda::launch(count, unsigned(over(chunks, kWarps)), kThreads, 0, x, s);
  cuda::launch(begin_lists, unsigned(blocks), cuda::kPlacers, 0, x, s, back);
  const int64_t filling = x.shape.pairs / 1024 < 256 ? x.shape.pairs / 1024 + 1 : 256;
  const int64_t placing = over(chunks, kWarps);
  cuda::launch(place, unsigned(placing > filling ? placing : filling), kThreads, 0, x, s);
}

KLAB_VARIANT(GsBin, {.run = run,
                     .parent = "02_warp_per_tile",
                     .tiles = {32, kLeastChunk},
                     .expect = {.shape = {50000, 150000, 400, 400}, .over_parent = 60}});

}  // namespace
}  // namespace klab
