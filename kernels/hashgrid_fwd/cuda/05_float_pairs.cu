// hashgrid_fwd.cuda.05_float_pairs: an entry of floats by one load, and the two lanes of a pair take the two sides of a cell.
//
// CHANGE    what 03_half_vectors and 04_lane_pairs do for halves, for the table that training has: all features of an entry by one
//           load, 8 bytes for two; lanes 2k and 2k+1 load neighbors along x, which share a sector three times in four. Each lane
//           hands its half of the other lane's point over by one shuffle a feature.
// EXPECT    8 loads a point and level in place of 16, and 20 sectors a request in place of 32 on a fine level. The parent's second
//           feature came from L1, so the sectors decide for random points: at least 1.2 times faster. Along rays, where lanes share
//           cells, requests decide.
// NUMERICS  float; summed in another order than the parent: the corners of each side first.
// NEEDS     a table aligned to its entries; one that is not is read feature by feature.
#include "harness/core/registrar.h"
#include "kernels/common/cuda.h"
#include "kernels/common/hashgrid/device.h"
#include "reference/hashgrid_fwd/hashgrid_fwd.h"

namespace klab {
namespace {

constexpr int kThreads = 128;

/// All features of an entry: one load where `whole`, that is, where the table is aligned to its entries.
template <int kFeatures>
__device__ __forceinline__ void load_entry(const float* __restrict__ entry, bool whole, float* value) {
  if constexpr (kFeatures == 1) {
    value[0] = entry[0];
  } else if (!whole) {
    for (int f = 0; f < kFeatures; ++f) value[f] = entry[f];
  } else if constexpr (kFeatures == 2) {
    const float2 both = *reinterpret_cast<const float2*>(entry);
    value[0] = both.x;
    value[1] = both.y;
  } else {
#pragma unroll
    for (int f = 0; f < kFeatures; f += 4) {
      const float4 four = *reinterpret_cast<const float4*>(entry + f);
      value[f] = four.x;
      value[f + 1] = four.y;
      value[f + 2] = four.z;
      value[f + 3] = four.w;
    }
  }
}

template <int kDim, int kFeatures>
__global__ void __launch_bounds__(kThreads)
    encode(HashgridLevels levels, int64_t n, const float* __restrict__ positions,
           const float* __restrict__ table, bool whole, float* __restrict__ features) {
  const int64_t i = int64_t(blockIdx.x) * kThreads + threadIdx.x;  // the point whose result this lane keeps
  const int side = int(threadIdx.x) & 1;
  const HashgridLevel& level = levels.at[blockIdx.y];
  const float* const own = table + level.offset * kFeatures;
  float sum[2][kFeatures] = {};  // of the side's corners: the even lane's point, the odd lane's
#pragma unroll
  for (int turn = 0; turn < 2; ++turn) {
    // Past the end the last point is repeated, so that no lane is missing from a shuffle.
    const auto cell = hashgrid_cell<kDim>(positions, n, min(i - side + turn, n - 1), level.scale);
#pragma unroll
    for (int c = 0; c < 1 << kDim; c += 2) {
      const float weight = hashgrid_weight(cell, c + side);
      float value[kFeatures];
      load_entry<kFeatures>(own + int64_t(hashgrid_entry(level, cell, c + side)) * kFeatures, whole, value);
      for (int f = 0; f < kFeatures; ++f) sum[turn][f] += weight * value[f];
    }
  }
  for (int f = 0; f < kFeatures; ++f) {
    const float handed = __shfl_xor_sync(~0U, side == 0 ? sum[1][f] : sum[0][f], 1);
    const float both = (side == 0 ? sum[0][f] : sum[1][f]) + handed;
    if (i < n) features[(int64_t(blockIdx.y) * kFeatures + f) * n + i] = both;
  }
}

void run(const HashgridFwd::Args<float>& x) {
  if (x.shape.n == 0) return;
  const auto blocks = unsigned((x.shape.n + kThreads - 1) / kThreads);
  const size_t bytes = size_t(x.shape.features < 4 ? x.shape.features : 4) * sizeof(float);
  const bool whole = reinterpret_cast<uintptr_t>(x.table) % bytes == 0;
  hashgrid_dispatch(x.shape, [&](auto dim, auto features) {
    cuda::launch(encode<dim(), features()>, dim3(blocks, unsigned(x.shape.levels)), dim3(kThreads), 0,
                 hashgrid_device_levels(x.shape), x.shape.n, x.positions, x.table, whole, x.features);
  });
}

KLAB_VARIANT(HashgridFwd, {.run = run,
                           .parent = "02_level_major",
                           .tiles = {2, kThreads},
                           .expect = {.shape = {1 << 18, 3, 16, 2, 19, 16, 2048, 0}, .over_parent = 1.2}});

}  // namespace
}  // namespace klab
