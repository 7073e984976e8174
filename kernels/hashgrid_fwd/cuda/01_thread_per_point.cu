// hashgrid_fwd.cuda.01_thread_per_point: one thread per point, through all levels.
//
// CHANGE    the definition: a thread goes through all levels of its point, through all corners of each.
// EXPECT    bound by reads at random places: two points next to each other in a warp share no corner on fine
//           levels, so a request of 32 lanes needs up to 32 sectors. All levels' tables are in use at the
//           same time.
// NUMERICS  float; a product of hat functions a corner, corners summed in order.
#include "harness/core/registrar.h"
#include "kernels/common/cuda.h"
#include "kernels/common/hashgrid/device.h"
#include "reference/hashgrid_fwd/hashgrid_fwd.h"

namespace klab {
namespace {

constexpr int kThreads = 128;

template <int kDim, int kFeatures>
__global__ void __launch_bounds__(kThreads)
    encode(HashgridLevels levels, int count, int64_t n, const float* __restrict__ positions,
           const float* __restrict__ table, float* __restrict__ features) {
  const int64_t i = int64_t(blockIdx.x) * kThreads + threadIdx.x;
  if (i >= n) return;
  for (int l = 0; l < count; ++l) {
    const HashgridLevel& level = levels.at[l];
    const auto cell = hashgrid_cell<kDim>(positions, n, i, level.scale);
    float sum[kFeatures] = {};
    for (int c = 0; c < 1 << kDim; ++c) {
      const float weight = hashgrid_weight(cell, c);
      const float* entry = table + (level.offset + hashgrid_entry(level, cell, c)) * kFeatures;
      for (int f = 0; f < kFeatures; ++f) sum[f] += weight * entry[f];
    }
    for (int f = 0; f < kFeatures; ++f) features[(int64_t(l) * kFeatures + f) * n + i] = sum[f];
  }
}

void run(const HashgridFwd::Args<float>& x) {
  if (x.shape.n == 0) return;
  const auto blocks = unsigned((x.shape.n + kThreads - 1) / kThreads);
  hashgrid_dispatch(x.shape, [&](auto dim, auto features) {
    cuda::launch(encode<dim(), features()>, dim3(blocks), dim3(kThreads), 0, hashgrid_device_levels(x.shape),
                 int(x.shape.levels), x.shape.n, x.positions, x.table, x.features);
  });
}

KLAB_VARIANT(HashgridFwd, {.run = run, .tiles = {kThreads}, .was = {"01_thread_a_point"}});

}  // namespace
}  // namespace klab
