// hashgrid_bwd.cuda.06_vector_reds: all features of an entry by one red.
//
// CHANGE    as in the parent, lanes of a cell add up first, all corners in one pass over the peers. The sums
//           of an entry's features then go out as one red.global.add of 8 or 16 bytes. Lanes without a
//           gradient take no part, and a warp of only such lanes ends before it knows its cells.
// EXPECT    half as many requests for two features, and half as many sectors, since the features of an entry
//           no longer arrive apart: up to twice the parent, nothing if L2 counts floats. One vote a pass in
//           place of eight. Slots that pad a batch cost a load of their gradient; in the parent their reds all
//           queue at one cell.
// NUMERICS  as the parent.
// NEEDS     compute capability 9.0 for the wide reds; older GPUs get single ones.
// TRIED     see NOTES.md, cuda.06_vector_reds
// SASS      MATCH REDG.F32x2 REDG.F32x4; no ATOM ATOMG LDL STL
#include <algorithm>

#include "harness/core/registrar.h"
#include "kernels/common/cuda.h"
#include "kernels/common/cuda_red.h"
#include "kernels/common/hashgrid/device.h"
#include "reference/hashgrid_bwd/hashgrid_bwd.h"

namespace klab {
namespace {

constexpr int kThreads = 128;
constexpr unsigned kWarp = ~0U;

#include "kernels/common/hashgrid/06_vector_reds-inl.h"

template <int kDim, int kFeatures>
__global__ void __launch_bounds__(kThreads)
    scatter(HashgridLevels levels, int64_t n, const float* __restrict__ positions,
            const float* __restrict__ d_features, float* __restrict__ d_table, bool whole) {
  constexpr int kCorners = 1 << kDim;
  const int64_t i = int64_t(blockIdx.x) * kThreads + threadIdx.x;
  const int lane = int(threadIdx.x) % 32;
  const HashgridLevel& level = levels.at[blockIdx.y];
  const int64_t point = min(i, n - 1);
  float gradient[kFeatures];
  bool any = false;
  for (int f = 0; f < kFeatures; ++f) {
    gradient[f] = i < n ? d_features[(int64_t(blockIdx.y) * kFeatures + f) * n + point] : 0;
    any = any || gradient[f] != 0;
  }
  const unsigned live = __ballot_sync(kWarp, any);
  if (live == 0) return;  // the whole warp

  const auto cell = hashgrid_cell<kDim>(positions, n, point, level.scale);
  unsigned peers = any ? live : 0;  // lanes in the same cell with a gradient, this one among them
  for (int d = 0; d < kDim; ++d) peers &= __match_any_sync(kWarp, cell.at[d]);
  const bool first = lane == __ffs(int(peers)) - 1;
  const int rank = __popc(peers & ((1U << lane) - 1));

  float sum[kCorners][kFeatures];
#pragma unroll
  for (int c = 0; c < kCorners; ++c)
    for (int f = 0; f < kFeatures; ++f) sum[c][f] = hashgrid_weight(cell, c) * gradient[f];
  // Peers with an odd rank hand their sums to the one before and are done; ranks are halved; and again.
  unsigned others = peers & ~((2U << lane) - 1);  // peers in later lanes
  for (int left = rank; __any_sync(kWarp, others != 0); left >>= 1) {
    const int next = __ffs(int(others)) - 1;  // -1: none
#pragma unroll
    for (int c = 0; c < kCorners; ++c)
      for (int f = 0; f < kFeatures; ++f) {
        const float theirs = __shfl_sync(kWarp, sum[c][f], next < 0 ? lane : next);
        if (next >= 0) sum[c][f] += theirs;
      }
    others &= ~__ballot_sync(kWarp, left & 1);
  }
  if (!first) return;
#pragma unroll
  for (int c = 0; c < kCorners; ++c)
    add_entry<kFeatures>(d_table + (level.offset + hashgrid_entry(level, cell, c)) * kFeatures, whole,
                         sum[c]);
}

void run(const HashgridBwd::Args<float>& x) {
  if (x.shape.n == 0) return;
  const auto blocks = unsigned((x.shape.n + kThreads - 1) / kThreads);
  const size_t entry = sizeof(float) * std::min<size_t>(size_t(x.shape.features), 4);
  const bool whole = reinterpret_cast<uintptr_t>(x.d_table) % entry == 0;
  hashgrid_dispatch(x.shape, [&](auto dim, auto features) {
    cuda::launch(scatter<dim(), features()>, dim3(blocks, unsigned(x.shape.levels)), dim3(kThreads), 0,
                 hashgrid_device_levels(x.shape), x.shape.n, x.positions, x.d_features, x.d_table, whole);
  });
}

KLAB_VARIANT(HashgridBwd, {.run = run,
                           .parent = "03_warp_aggregated",
                           .forward = "02_level_major",
                           .numerics = {.deterministic = false},
                           .tiles = {32, kThreads},
                           .expect = {.shape = {1 << 18, 3, 16, 2, 19, 16, 2048, 1}, .over_parent = 1.5}});

}  // namespace
}  // namespace klab
