// hashgrid_fwd.cuda.03_half_vectors: an entry of halves by one load.
//
// CHANGE    reads the half-precision copy of the table, and all features of an entry at once: 4 bytes for two, 8 for
//           four, 16 for eight.
// EXPECT    F features take one request instead of F, and an entry half as many bytes, so that a level's 2 MB leave
//           room in L2 and neighbors along x share a sector seven times in eight, not three in four. At least 1.2
//           times faster.
// NUMERICS  the table's values carry half precision, which is the table's error and not this rung's; widening is
//           exact, sums are float.
// NEEDS     a table aligned to its entries; one that is not is read half by half.
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
  const int64_t i = int64_t(blockIdx.x) * kThreads + threadIdx.x;
  if (i >= n) return;
  const HashgridLevel& level = levels.at[blockIdx.y];
  const auto cell = hashgrid_cell<kDim>(positions, n, i, level.scale);
  float sum[kFeatures] = {};
#pragma unroll
  for (int c = 0; c < 1 << kDim; ++c) {
    const float weight = hashgrid_weight(cell, c);
    float value[kFeatures];
    load_entry<kFeatures>(table + (level.offset + hashgrid_entry(level, cell, c)) * kFeatures, whole, value);
    for (int f = 0; f < kFeatures; ++f) sum[f] += weight * value[f];
  }
  for (int f = 0; f < kFeatures; ++f) features[(int64_t(blockIdx.y) * kFeatures + f) * n + i] = sum[f];
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
                           .parent = "02_level_major",
                           .tiles = {kThreads},
                           .needs = {"table_half"},
                           .expect = {.shape = {1 << 18, 3, 16, 2, 19, 16, 2048, 0}, .over_parent = 1.2}});

}  // namespace
}  // namespace klab
