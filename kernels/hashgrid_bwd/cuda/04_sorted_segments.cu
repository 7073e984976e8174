// hashgrid_bwd.cuda.04_sorted_segments: sort by entry, then sum neighbors.
//
// CHANGE    level by level: count the contributions of each entry, turn the counts into places by a prefix
//           sum (a counting sort), write each contribution's point and weight to its place, and let one
//           thread, or on levels of few entries one warp, add up an entry's segment and write the sum once.
// EXPECT    no atomic on a float: counters are integers. But every contribution is written and read once
//           more, 8 bytes each way, and its gradients are then read at random. It loses to the parent where
//           additions spread over many entries, and gains where they queue.
// NUMERICS  float; an entry's contributions in the order in which the sort placed them, which atomics decide.
// NEEDS     scratch of 8 bytes per corner and 8 an entry.
// SASS      ATOMG.ADD; no REDG.F32 ATOM LDL STL
#include <algorithm>

#include "harness/core/registrar.h"
#include "kernels/common/cuda.h"
#include "kernels/common/hashgrid/device.h"
#include "reference/hashgrid_bwd/hashgrid_bwd.h"

namespace klab {
namespace {

constexpr int kThreads = 256;
constexpr unsigned kWarp = ~0U;

/// One corner of one point, in the order of entries.
struct Contribution {
  uint32_t point;
  float weight;
};

/// Without `kPlace` places[e] counts the contributions of entry e. With it they are sorted from places[e] on, which is the
/// end of e's segment after, and so the beginning of the next one's.
template <int kDim, bool kPlace>
__global__ void __launch_bounds__(kThreads)
    take_corners(HashgridLevel level, int64_t n, const float* __restrict__ positions,
                 unsigned* __restrict__ places, Contribution* __restrict__ sorted) {
  const int64_t i = int64_t(blockIdx.x) * kThreads + threadIdx.x;
  if (i >= n) return;
  const auto cell = hashgrid_cell<kDim>(positions, n, i, level.scale);
  for (int c = 0; c < 1 << kDim; ++c) {
    const unsigned place = atomicAdd(places + hashgrid_entry(level, cell, c), 1U);
    if (kPlace) sorted[place] = {uint32_t(i), hashgrid_weight(cell, c)};
  }
}

/// Sum of `value` over the threads before this one; `total` becomes that over the block. All threads call it.
__device__ __forceinline__ unsigned sum_before(unsigned value, unsigned& total) {
  __shared__ unsigned of_warp[kThreads / 32];
  const int lane = int(threadIdx.x) % 32, warp = int(threadIdx.x) / 32;
  unsigned sum = value;
  for (int step = 1; step < 32; step *= 2) {
    const unsigned before = __shfl_up_sync(kWarp, sum, step);
    if (lane >= step) sum += before;
  }
  __syncthreads();  // of_warp may still be read from the last call
  if (lane == 31) of_warp[warp] = sum;
  __syncthreads();
  unsigned before = 0;
  total = 0;
  for (int w = 0; w < kThreads / 32; ++w) {
    if (w == warp) before = total;
    total += of_warp[w];
  }
  return before + sum - value;
}

/// Block b: how many contributions entries b*kThreads .. have together.
__global__ void __launch_bounds__(kThreads)
    sum_blocks(int64_t entries, const unsigned* __restrict__ counts, unsigned* __restrict__ totals) {
  const int64_t e = int64_t(blockIdx.x) * kThreads + threadIdx.x;
  unsigned total = 0;
  sum_before(e < entries ? counts[e] : 0, total);
  if (threadIdx.x == 0) totals[blockIdx.x] = total;
}

/// One block: totals[b] becomes the sum of those before b.
__global__ void __launch_bounds__(kThreads) scan_totals(int64_t blocks, unsigned* __restrict__ totals) {
  unsigned carry = 0;
  for (int64_t first = 0; first < blocks; first += kThreads) {
    const int64_t b = first + threadIdx.x;
    unsigned total = 0;
    const unsigned before = sum_before(b < blocks ? totals[b] : 0, total);
    if (b < blocks) totals[b] = carry + before;
    carry += total;
  }
}

/// counts[e] becomes the place of e's first contribution.
__global__ void __launch_bounds__(kThreads)
    find_places(int64_t entries, const unsigned* __restrict__ totals, unsigned* __restrict__ counts) {
  const int64_t e = int64_t(blockIdx.x) * kThreads + threadIdx.x;
  unsigned total = 0;
  const unsigned before = sum_before(e < entries ? counts[e] : 0, total);
  if (e < entries) counts[e] = totals[blockIdx.x] + before;
}

/// kLanes neighboring threads, 1 or 32, share an entry's segment. d_features, d_table: this level's.
template <int kFeatures, int kLanes>
__global__ void __launch_bounds__(kThreads)
    sum_segments(int64_t entries, int64_t n, const unsigned* __restrict__ ends,
                 const Contribution* __restrict__ sorted, const float* __restrict__ d_features,
                 float* __restrict__ d_table) {
  const int64_t e = (int64_t(blockIdx.x) * kThreads + threadIdx.x) / kLanes;
  if (e >= entries) return;  // whole warps where lanes share
  const int lane = int(threadIdx.x) % kLanes;
  const unsigned begin = e == 0 ? 0 : ends[e - 1], end = ends[e];
  if (begin == end) return;
  float sum[kFeatures] = {};
  for (unsigned k = begin + lane; k < end; k += kLanes) {
    const Contribution from = sorted[k];
    for (int f = 0; f < kFeatures; ++f) sum[f] += from.weight * d_features[f * n + from.point];
  }
  for (int step = kLanes / 2; step > 0; step /= 2)
    for (int f = 0; f < kFeatures; ++f) sum[f] += __shfl_down_sync(kWarp, sum[f], step);
  if (lane > 0) return;
  for (int f = 0; f < kFeatures; ++f) d_table[e * kFeatures + f] += sum[f];
}

unsigned blocks_of(int64_t threads) { return unsigned((threads + kThreads - 1) / kThreads); }

template <int kDim, int kFeatures>
void scatter_level(const HashgridLevel& level, int64_t l, const HashgridBwd::Args<float>& x, unsigned* counts,
                   unsigned* totals, Contribution* sorted) {
  const int64_t n = x.shape.n;
  const dim3 threads(kThreads), points(blocks_of(n)), entries(blocks_of(level.entries));
  cuda::fill_zero(counts, size_t(level.entries) * sizeof(unsigned));
  cuda::launch(take_corners<kDim, false>, points, threads, 0, level, n, x.positions, counts, sorted);
  cuda::launch(sum_blocks, entries, threads, 0, level.entries, counts, totals);
  cuda::launch(scan_totals, dim3(1), threads, 0, int64_t(entries.x), totals);
  cuda::launch(find_places, entries, threads, 0, level.entries, totals, counts);
  cuda::launch(take_corners<kDim, true>, points, threads, 0, level, n, x.positions, counts, sorted);
  const float* d_features = x.d_features + l * kFeatures * n;
  float* d_table = x.d_table + level.offset * kFeatures;
  const bool long_ones = (n << kDim) / level.entries >= 32;
  cuda::launch(long_ones ? sum_segments<kFeatures, 32> : sum_segments<kFeatures, 1>,
               dim3(blocks_of((long_ones ? 32 : 1) * level.entries)), threads, 0, level.entries, n, counts,
               sorted, d_features, d_table);
}

void run(const HashgridBwd::Args<float>& x) {
  const HashgridShape& s = x.shape;
  if (s.n == 0) return;
  const auto levels = hashgrid_levels(s);
  int64_t most = 0;
  for (const HashgridLevel& level : levels) most = std::max(most, level.entries);
  const size_t records = size_t(s.n) << s.dim, totals = blocks_of(most);
  cuda::Scratch scratch(records * sizeof(Contribution) + (size_t(most) + totals) * sizeof(unsigned));
  auto* sorted = scratch.as<Contribution>();
  auto* counts = reinterpret_cast<unsigned*>(sorted + records);
  hashgrid_dispatch(s, [&](auto dim, auto features) {
    for (int64_t l = 0; l < s.levels; ++l)
      scatter_level<dim(), features()>(levels[size_t(l)], l, x, counts, counts + most, sorted);
  });
}

std::string supported(const HashgridShape& s, const Host&) {
  return s.n < (int64_t(1) << 32 >> s.dim) ? "" : "places of contributions are counted in 32 bits";
}

KLAB_VARIANT(HashgridBwd, {.run = run,
                           .parent = "01_float_atomics",
                           .forward = "02_level_major",
                           .numerics = {.deterministic = false},
                           .tiles = {kThreads},
                           .supported = supported});

}  // namespace
}  // namespace klab
