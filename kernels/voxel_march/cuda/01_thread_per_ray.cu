// voxel_march.cuda.01_thread_per_ray: one thread per ray, from plane to plane.
//
// CHANGE    the naive loop of each ray in its own thread, twice: the counts of all earlier rays must be known
//           before a ray's first sample can be written. In between one thread adds up the counts.
// EXPECT    a lookup for each cell, one after the other, most of them in empty cells, and those of
//           neighboring lanes lie anywhere on the Morton curve: nearly a sector for each.
// NUMERICS  bit-exact by contract.
#include "harness/core/registrar.h"
#include "kernels/common/cuda.h"
#include "kernels/common/rays/graded_device.h"
#include "reference/voxel_march/voxel_march.h"

namespace klab {
namespace {

constexpr int kThreads = 128;

#include "kernels/voxel_march/cuda/01_thread_per_ray-inl.h"

/// Calls take(i, from, to) for piece i of ray r; returns their number.
template <class Take>
__device__ __forceinline__ int march(const Scene& scene, int64_t r, Take take) {
  Line l = line_of(scene, r);
  int count = 0;
  for (float from = l.enter; from < l.leave;) {
    const float next[3] = {l.exit(0, l.cell[0]), l.exit(1, l.cell[1]), l.exit(2, l.cell[2])};
    const int first = next[1] < next[0] ? 1 : 0;
    const int axis = next[2] < fminf(next[0], next[1]) ? 2 : first;
    const float to = fminf(fminf(next[0], fminf(next[1], next[2])), l.leave);
    if (to > from) {
      const uint32_t index =
          spread(uint32_t(l.cell[0])) | spread(uint32_t(l.cell[1])) << 1 | spread(uint32_t(l.cell[2])) << 2;
      if (scene.occupancy[index / 8] >> (index % 8) & 1) take(count++, from, to);
      from = to;
    }
    bool inside = true;
    for (int k = 0; k < 3; ++k) {
      l.cell[k] += k != axis ? 0 : l.v[k] > 0 ? 1 : -1;
      inside = inside && l.cell[k] >= 0 && l.cell[k] < scene.grid;
    }
    if (!inside) break;
  }
  return count;
}

#include "kernels/common/rays/01_thread_per_ray-inl.h"
#include "kernels/voxel_march/cuda/01_thread_per_ray_passes-inl.h"

KLAB_VARIANT(VoxelMarch, {.run = run, .tiles = {kThreads}});

}  // namespace
}  // namespace klab
