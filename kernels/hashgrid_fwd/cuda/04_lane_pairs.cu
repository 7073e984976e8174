// hashgrid_fwd.cuda.04_lane_pairs: the two lanes of a pair take the two sides of a cell.
//
// CHANGE    neighbors along x lie next to each other in the table, but one thread loads them by two requests.
//           Here lanes 2k and 2k+1 work on the same point, one on the corners with the lower x, one on those
//           with the upper; then on the next point. Two halves of a sum meet by one shuffle.
// EXPECT    a request names 16 points' pairs of neighbors instead of 32 points' single corners: about 18
//           sectors instead of 32 on a fine level. As many requests as before, and two shuffles a feature. At
//           most 1.3 times faster if the first-level cache is the limit; nothing if L2 is.
// NUMERICS  as the parent, summed in another order: the corners of each side first.
// NEEDS     as the parent.
// TRIED     see NOTES.md, cuda.04_lane_pairs
// SASS      LDG.64 LDG.128; no LDL STL CALL
#include <cstring>

#include "harness/core/registrar.h"
#include "kernels/common/cuda.h"
#include "kernels/common/hashgrid/device.h"
#include "reference/hashgrid_fwd/hashgrid_fwd.h"

namespace klab {
namespace {

constexpr int kThreads = 128;

#include "kernels/hashgrid_fwd/cuda/03_half_vectors-inl.h"

template <int kDim, int kFeatures>
__global__ void __launch_bounds__(kThreads)
    encode(HashgridLevels levels, int64_t n, const float* __restrict__ positions,
           const __half* __restrict__ table, bool whole, float* __restrict__ features) {
  const int64_t i = int64_t(blockIdx.x) * kThreads + threadIdx.x;  // the point whose result this lane keeps
  const int side = int(threadIdx.x) & 1;
  const HashgridLevel& level = levels.at[blockIdx.y];
  float kept[kFeatures] = {};
#pragma unroll
  for (int turn = 0; turn < 2; ++turn) {
    // Both lanes of a pair: first the even lane's point, then the odd one's. Past the end the last point is
    // repeated, so that no lane is missing from a shuffle.
    const int64_t point = min(i - side + turn, n - 1);
    const auto cell = hashgrid_cell<kDim>(positions, n, point, level.scale);
    float sum[kFeatures] = {};
#pragma unroll
    for (int c = 0; c < 1 << kDim; c += 2) {
      const float weight = hashgrid_weight(cell, c + side);
      float value[kFeatures];
      load_entry<kFeatures>(table + (level.offset + hashgrid_entry(level, cell, c + side)) * kFeatures, whole,
                            value);
      for (int f = 0; f < kFeatures; ++f) sum[f] += weight * value[f];
    }
    for (int f = 0; f < kFeatures; ++f) {
      const float both = sum[f] + __shfl_xor_sync(~0U, sum[f], 1);
      if (turn == side) kept[f] = both;
    }
  }
  if (i >= n) return;
  for (int f = 0; f < kFeatures; ++f) features[(int64_t(blockIdx.y) * kFeatures + f) * n + i] = kept[f];
}

void run(const HashgridFwd::Args<float>& x) {
  if (x.shape.n == 0) return;
  const auto blocks = unsigned((x.shape.n + kThreads - 1) / kThreads);
  const auto* table = reinterpret_cast<const __half*>(x.table_half);
  const bool whole = reinterpret_cast<uintptr_t>(table) % size_t(2 * x.shape.features) == 0;
  hashgrid_dispatch(x.shape, [&](auto dim, auto features) {
    cuda::launch(encode<dim(), features()>, dim3(blocks, unsigned(x.shape.levels)), dim3(kThreads), 0,
                 hashgrid_device_levels(x.shape), x.shape.n, x.positions, table, whole, x.features);
  });
}

KLAB_VARIANT(HashgridFwd, {.run = run,
                           .parent = "03_half_vectors",
                           .tiles = {2, kThreads},
                           .needs = {"table_half"},
                           .expect = {.shape = {1 << 18, 3, 16, 2, 19, 16, 2048, 0}, .over_parent = 1.05}});

}  // namespace
}  // namespace klab
