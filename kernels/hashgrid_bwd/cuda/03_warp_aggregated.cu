// hashgrid_bwd.cuda.03_warp_aggregated: lanes in one cell add up first.
//
// CHANGE    lanes of a warp whose points lie in the same cell find each other by a match of the cell's
//           coordinates; their contributions are summed by shuffles, in a tree over the lanes that match, and
//           the first of them adds the sum.
// EXPECT    samples along a ray lie √3/1024 apart: on the coarsest levels a warp has one or two cells, so one
//           atomic in place of 16 to 32, and those are the levels where additions queue. Several times faster
//           there. On fine levels, and for random points, the match gains nothing.
// NUMERICS  float; lanes of a cell as a tree, then in the order in which warps arrive.
// NEEDS     compute capability 7.0 (match).
// SASS      MATCH REDG.F32; no ATOM ATOMG LDL STL
#include "harness/core/registrar.h"
#include "kernels/common/cuda.h"
#include "kernels/common/hashgrid/device.h"
#include "reference/hashgrid_bwd/hashgrid_bwd.h"

namespace klab {
namespace {

constexpr int kThreads = 128;
constexpr unsigned kWarp = ~0U;

template <int kDim, int kFeatures>
__global__ void __launch_bounds__(kThreads)
    scatter(HashgridLevels levels, int64_t n, const float* __restrict__ positions,
            const float* __restrict__ d_features, float* __restrict__ d_table) {
  const int64_t i = int64_t(blockIdx.x) * kThreads + threadIdx.x;
  const int lane = int(threadIdx.x) % 32;
  const HashgridLevel& level = levels.at[blockIdx.y];
  // Lanes past the end stay, with the last point and no gradient, so that none is missing below.
  const int64_t point = min(i, n - 1);
  const auto cell = hashgrid_cell<kDim>(positions, n, point, level.scale);
  float gradient[kFeatures];
  for (int f = 0; f < kFeatures; ++f)
    gradient[f] = i < n ? d_features[(int64_t(blockIdx.y) * kFeatures + f) * n + point] : 0;

  unsigned peers = kWarp;  // lanes in the same cell, this one among them
  for (int d = 0; d < kDim; ++d) peers &= __match_any_sync(kWarp, cell.at[d]);
  const bool first = lane == __ffs(int(peers)) - 1;
  const int rank = __popc(peers & ((1U << lane) - 1));
  const unsigned behind = peers & ~((2U << lane) - 1);  // peers in later lanes

  for (int c = 0; c < 1 << kDim; ++c) {
    const float weight = hashgrid_weight(cell, c);
    float sum[kFeatures];
    for (int f = 0; f < kFeatures; ++f) sum[f] = weight * gradient[f];
    // Peers with an odd rank hand their sum to the one before and are done; ranks are halved; and again.
    unsigned others = behind;
    for (int left = rank; __any_sync(kWarp, others != 0); left >>= 1) {
      const int next = __ffs(int(others)) - 1;  // -1: none
      for (int f = 0; f < kFeatures; ++f) {
        const float theirs = __shfl_sync(kWarp, sum[f], next < 0 ? lane : next);
        if (next >= 0) sum[f] += theirs;
      }
      others &= ~__ballot_sync(kWarp, left & 1);
    }
    if (!first) continue;
    float* entry = d_table + (level.offset + hashgrid_entry(level, cell, c)) * kFeatures;
    for (int f = 0; f < kFeatures; ++f) atomicAdd(entry + f, sum[f]);
  }
}

void run(const HashgridBwd::Args<float>& x) {
  if (x.shape.n == 0) return;
  const auto blocks = unsigned((x.shape.n + kThreads - 1) / kThreads);
  hashgrid_dispatch(x.shape, [&](auto dim, auto features) {
    cuda::launch(scatter<dim(), features()>, dim3(blocks, unsigned(x.shape.levels)), dim3(kThreads), 0,
                 hashgrid_device_levels(x.shape), x.shape.n, x.positions, x.d_features, x.d_table);
  });
}

KLAB_VARIANT(HashgridBwd, {.run = run,
                           .parent = "01_float_atomics",
                           .forward = "02_level_major",
                           .numerics = {.deterministic = false},
                           .tiles = {32, kThreads},
                           .expect = {.shape = {1 << 18, 3, 16, 2, 19, 16, 2048, 1}, .over_parent = 1.5}});

}  // namespace
}  // namespace klab
