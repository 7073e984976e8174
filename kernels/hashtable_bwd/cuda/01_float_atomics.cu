// hashtable_bwd.cuda.01_float_atomics: one thread per point and level; eight corners, eight additions.
//
// CHANGE    the forward with an atomic addition in place of each read.
// EXPECT    atomics are carried out by L2, one lane's address at a time. In a small level many points add to the same few
//           entries, and additions to one address wait for each other.
// NUMERICS  float; contributions in the order in which they arrive, so two runs differ.
#include "harness/core/registrar.h"
#include "kernels/common/cuda.h"
#include "kernels/common/hashgrid/table_device.h"
#include "reference/hashtable_bwd/hashtable_bwd.h"

namespace klab {
namespace {

constexpr int kThreads = 128;

__global__ void __launch_bounds__(kThreads)
    scatter(HashtableShape s, const float* __restrict__ positions, const float* __restrict__ scales,
            const int64_t* __restrict__ sizes, const float* __restrict__ d_features,
            float* __restrict__ d_table) {
  const int64_t i = int64_t(blockIdx.x) * kThreads + threadIdx.x;
  if (i >= s.n) return;
  const int l = int(blockIdx.y), hash = int(s.hash), blend = int(s.blend);
  const int corners = blend == table_blend::nearest ? 1 : 8, of_level = int(s.features);
  const TableDeviceLevel level = table_device_level(scales, sizes, l);
  const TableDeviceCell cell = table_device_cell(positions, s.n, i, level.scale, blend);
  for (int c = 0; c < corners; ++c) {
    float weight;
    const uint32_t index = table_device_corner(level, cell, hash, c, weight);
    float* entry = d_table + (level.offset + index) * of_level;
    for (int f = 0; f < of_level; ++f)
      atomicAdd(entry + f, weight * d_features[(int64_t(l) * of_level + f) * s.n + i]);
  }
}

void run(const HashtableBwd::Args<float>& x) {
  if (x.shape.n == 0) return;
  const auto blocks = unsigned((x.shape.n + kThreads - 1) / kThreads);
  cuda::launch(scatter, dim3(blocks, unsigned(x.shape.levels)), dim3(kThreads), 0, x.shape, x.positions,
               x.scales, x.sizes, x.d_features, x.d_table);
}

KLAB_VARIANT(HashtableBwd, {.run = run, .numerics = {.deterministic = false}, .tiles = {kThreads}});

}  // namespace
}  // namespace klab
