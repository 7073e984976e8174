// hashtable_fwd.cuda.01_level_major: one thread per point and level.
//
// CHANGE    the definition; levels are the grid's second dimension, so that one level's part of the table is
//           in use at a time.
// EXPECT    bound by reads at random places. The hash function decides how many sectors 32 lanes need
//           together: neighbors along x share a sector with all functions except pcg, where 32 lanes and 8
//           corners read 256 places.
// NUMERICS  float; a product of weights a corner, corners summed in order.
#include "harness/core/registrar.h"
#include "kernels/common/cuda.h"
#include "kernels/common/hashgrid/table_device.h"
#include "reference/hashtable_fwd/hashtable_fwd.h"

namespace klab {
namespace {

constexpr int kThreads = 128;

__global__ void __launch_bounds__(kThreads)
    encode(HashtableShape s, const float* __restrict__ positions, const float* __restrict__ scales,
           const int64_t* __restrict__ sizes, const float* __restrict__ table, float* __restrict__ features) {
  const int64_t i = int64_t(blockIdx.x) * kThreads + threadIdx.x;
  if (i >= s.n) return;
  const int l = int(blockIdx.y), hash = int(s.hash), blend = int(s.blend);
  const int corners = blend == table_blend::nearest ? 1 : 8, of_level = int(s.features);
  const TableDeviceLevel level = table_device_level(scales, sizes, l);
  const TableDeviceCell cell = table_device_cell(positions, s.n, i, level.scale, blend);
  float sum[8] = {};
  for (int c = 0; c < corners; ++c) {
    float weight;
    const uint32_t index = table_device_corner(level, cell, hash, c, weight);
    const float* entry = table + (level.offset + index) * of_level;
    for (int f = 0; f < of_level; ++f) sum[f] += weight * entry[f];
  }
  for (int f = 0; f < of_level; ++f) features[(int64_t(l) * of_level + f) * s.n + i] = sum[f];
}

void run(const HashtableFwd::Args<float>& x) {
  if (x.shape.n == 0) return;
  const auto blocks = unsigned((x.shape.n + kThreads - 1) / kThreads);
  cuda::launch(encode, dim3(blocks, unsigned(x.shape.levels)), dim3(kThreads), 0, x.shape, x.positions,
               x.scales, x.sizes, x.table, x.features);
}

KLAB_VARIANT(HashtableFwd, {.run = run, .tiles = {kThreads}});

}  // namespace
}  // namespace klab
