// voxel_march.cuda.02_skip_words: an empty block of 4x4x4 cells is left in one jump.
//
// CHANGE    a lookup takes the 64 bits of a block, one load like one byte. If they are all zero the ray
//           continues where it leaves the block: at the nearest of three far planes, and on the other two
//           axes at a product, corrected by the planes next to it.
// EXPECT    a fifth of the lookups in empty air. Lanes whose rays are in the same block share one sector.
// NUMERICS  bit-exact by contract: a plane's distance does not depend on the planes before it.
// NEEDS     nothing; grids below 4 have no blocks, and go cell by cell.
#include "harness/core/registrar.h"
#include "kernels/common/cuda.h"
#include "kernels/common/rays/graded_device.h"
#include "reference/voxel_march/voxel_march.h"

namespace klab {
namespace {

constexpr int kThreads = 128;

#include "kernels/voxel_march/cuda/01_thread_per_ray-inl.h"

#include "kernels/voxel_march/cuda/02_skip_words-inl.h"

/// Leaves the aligned block of `edge` cells around the present cell. Returns the distance, and the axis in `along`.
__device__ __forceinline__ float leave_block(Line& l, int edge, int& along) {
  int last[3];  // of the block's cells, along the ray
  float far[3];
  for (int axis = 0; axis < 3; ++axis) {
    last[axis] = l.v[axis] > 0 ? l.cell[axis] | (edge - 1) : l.cell[axis] & ~(edge - 1);
    far[axis] = l.exit(axis, last[axis]);
  }
  along = far[2] < fminf(far[0], far[1]) ? 2 : far[1] < far[0] ? 1 : 0;
  const float next = fminf(far[0], fminf(far[1], far[2]));
  for (int axis = 0; axis < 3; ++axis) {
    if (axis == along) {
      l.cell[axis] = last[axis];
      continue;
    }
    if (edge == 1) continue;
    // Planes are crossed in order of distance, equal ones in order of axes.
    const auto passed = [&](int cell) {
      const float at = l.exit(axis, cell);
      return at < next || (at == next && axis < along);
    };
    const int step = l.v[axis] > 0 ? 1 : -1, begin = l.cell[axis];
    const int ahead = (int(floorf(l.place(axis, next))) - begin) * step;
    int cell = begin + step * min(max(ahead, 0), (last[axis] - begin) * step);
    while (cell != begin && !passed(cell - step)) cell -= step;
    while (cell != last[axis] && passed(cell)) cell += step;
    l.cell[axis] = cell;
  }
  return next;
}

/// Calls take(i, from, to) for piece i of ray r; returns their number.
template <class Take>
__device__ __forceinline__ int march(const Scene& scene, int64_t r, Take take) {
  Line l = line_of(scene, r);
  int count = 0;
  for (float from = l.enter; from < l.leave;) {
    const uint32_t index =
        spread(uint32_t(l.cell[0])) | spread(uint32_t(l.cell[1])) << 1 | spread(uint32_t(l.cell[2])) << 2;
    const bool words = scene.grid >= 4;
    const uint64_t word = words ? word_at(scene.occupancy + index / 64 * 8) : scene.occupancy[0];
    int axis = 0;
    const float next = leave_block(l, words && word == 0 ? 4 : 1, axis);
    const float to = fminf(next, l.leave);
    if (to > from) {
      if (word >> (index % 64) & 1) take(count++, from, to);
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

KLAB_VARIANT(VoxelMarch, {.run = run, .parent = "01_thread_per_ray", .tiles = {4, kThreads}});

}  // namespace
}  // namespace klab
