// hashgrid_bwd.cuda.01_float_atomics: one thread per point and level; eight corners, eight additions.
//
// CHANGE    the forward with an atomic addition in place of each read. Levels are the grid's second dimension, as in
//           the forward's second rung.
// EXPECT    atomics are carried out by L2, one lane's address at a time. On coarse levels thousands of points add to
//           the same few entries, and additions to one address wait for each other: the smallest levels take longest.
// NUMERICS  float; contributions in the order in which they arrive, so two runs differ.
// SASS      REDG.F32; no ATOM ATOMG LDL STL
#include "harness/core/registrar.h"
#include "kernels/common/cuda.h"
#include "kernels/common/hashgrid/device.h"
#include "reference/hashgrid_bwd/hashgrid_bwd.h"

namespace klab {
namespace {

constexpr int kThreads = 128;

template <int kDim, int kFeatures>
__global__ void __launch_bounds__(kThreads)
    scatter(HashgridLevels levels, int64_t n, const float* __restrict__ positions,
            const float* __restrict__ d_features, float* __restrict__ d_table) {
  const int64_t i = int64_t(blockIdx.x) * kThreads + threadIdx.x;
  if (i >= n) return;
  const HashgridLevel& level = levels.at[blockIdx.y];
  const auto cell = hashgrid_cell<kDim>(positions, n, i, level.scale);
  float gradient[kFeatures];
  for (int f = 0; f < kFeatures; ++f) gradient[f] = d_features[(int64_t(blockIdx.y) * kFeatures + f) * n + i];
  for (int c = 0; c < 1 << kDim; ++c) {
    const float weight = hashgrid_weight(cell, c);
    float* entry = d_table + (level.offset + hashgrid_entry(level, cell, c)) * kFeatures;
    for (int f = 0; f < kFeatures; ++f) atomicAdd(entry + f, weight * gradient[f]);
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
                           .forward = "02_level_major",
                           .numerics = {.deterministic = false},
                           .tiles = {kThreads}});

}  // namespace
}  // namespace klab
