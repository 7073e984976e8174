// hashgrid_bwd.cuda.07_lane_pairs: the two sides of a cell in one request.
//
// CHANGE    neighbors along x lie next to each other in the table, but one thread adds to them by two reds. Here
//           lanes 2k and 2k+1 add the first lane's sums together, one those of the corners with the lower x, one
//           those with the upper; then the second lane's. They hand over sums and places by shuffles.
// EXPECT    as many reds as in the parent, but the two lanes of a pair mostly add in one sector: in a hashed
//           level where x is even, half of all points, and in a dense one for three of four. About 24 sectors or
//           20 a full request in place of 32: up to 1.3 times the parent if sectors are the limit. 12 shuffles
//           more a point and level, some 6 us of 2^18 points.
// NUMERICS  as the parent.
// NEEDS     as the parent.
// TRIED     see NOTES.md, cuda.07_lane_pairs
// SASS      REDG.F32x2 REDG.F32x4; no ATOM ATOMG LDL STL
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
  // Each lane keeps one side's sums of its own point, and takes the same side's of its partner's.
  const int side = lane & 1;
  const bool partner_first = __shfl_xor_sync(kWarp, int(first), 1) != 0;
#pragma unroll
  for (int c = 0; c < kCorners; c += 2) {
    const uint32_t low = hashgrid_entry(level, cell, c), high = hashgrid_entry(level, cell, c + 1);
    float own[kFeatures], theirs[kFeatures];
#pragma unroll
    for (int f = 0; f < kFeatures; ++f) {
      own[f] = side == 0 ? sum[c][f] : sum[c + 1][f];
      theirs[f] = __shfl_xor_sync(kWarp, side == 0 ? sum[c + 1][f] : sum[c][f], 1);
    }
    const uint32_t at_own = side == 0 ? low : high;
    const uint32_t at_theirs = __shfl_xor_sync(kWarp, side == 0 ? high : low, 1);
#pragma unroll
    for (int turn = 0; turn < 2; ++turn) {  // the even lane's point, then the odd one's
      const bool mine = turn == side;
      float added[kFeatures];
#pragma unroll
      for (int f = 0; f < kFeatures; ++f) added[f] = mine ? own[f] : theirs[f];
      if (mine ? first : partner_first)
        add_entry<kFeatures>(d_table + (level.offset + (mine ? at_own : at_theirs)) * kFeatures, whole,
                             added);
    }
  }
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
                           .parent = "06_vector_reds",
                           .forward = "02_level_major",
                           .numerics = {.deterministic = false},
                           .tiles = {32, kThreads},
                           .expect = {.shape = {1 << 18, 3, 16, 2, 19, 16, 2048, 1}, .over_parent = 1.1}});

}  // namespace
}  // namespace klab
