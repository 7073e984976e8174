// voxel_march.cuda.03_look_back: one kernel, in which a warp counts, finds its place and writes.
//
// CHANGE    32 rays are a block and a tile. It counts their pieces, finds the sum of the counts before them in the words of
//           earlier tiles (kernels/common/look_back.h), and marches again to write: the one thread that added up all counts is
//           gone, and two launches with it. Loops over the axes are unrolled, so that cells are registers: an array that a
//           number of an axis indexes lies in local memory, and its loads in the chain from one cell to the next.
// EXPECT    the sum of 8,192 counts in one thread, some 455 of the parent's 1,000 us, becomes a few us; 256 blocks
//           of a warp are on all multiprocessors, 64 blocks of four were on half of them. Twice as fast.
// NUMERICS  bit-exact by contract: a plane's distance does not depend on the planes before it.
// NEEDS     8 bytes a tile of 32 rays.
// SASS      ATOMG.ADD LDG.64.STRONG STG.64.STRONG; no LDL STL CALL.div_*64
#include "harness/core/registrar.h"
#include "kernels/common/cuda.h"
#include "kernels/common/look_back.h"
#include "kernels/common/rays/graded_device.h"
#include "reference/voxel_march/voxel_march.h"

namespace klab {
namespace {

constexpr int kTile = 32;  // rays of a block, one a lane

#include "kernels/voxel_march/cuda/01_thread_per_ray-inl.h"

#include "kernels/voxel_march/cuda/02_skip_words-inl.h"

/// Leaves the aligned block of `edge` cells around the present cell. Returns the distance, and the axis in `along`.
__device__ __forceinline__ float leave_block(Line& l, int edge, int& along) {
  int last[3];  // of the block's cells, along the ray
  float far[3];
#pragma unroll
  for (int axis = 0; axis < 3; ++axis) {
    last[axis] = l.v[axis] > 0 ? l.cell[axis] | (edge - 1) : l.cell[axis] & ~(edge - 1);
    far[axis] = l.exit(axis, last[axis]);
  }
  along = far[2] < fminf(far[0], far[1]) ? 2 : far[1] < far[0] ? 1 : 0;
  const float next = fminf(far[0], fminf(far[1], far[2]));
#pragma unroll
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
#pragma unroll
    for (int k = 0; k < 3; ++k) {
      l.cell[k] += k != axis ? 0 : l.v[k] > 0 ? 1 : -1;
      inside = inside && l.cell[k] >= 0 && l.cell[k] < scene.grid;
    }
    if (!inside) break;
  }
  return count;
}

__global__ void __launch_bounds__(kTile)
    march_tile(Scene scene, cuda::LookBack back, cuda::AddUpTo add, int32_t* __restrict__ ray_begin,
               float* __restrict__ t, float* __restrict__ delta) {
  const unsigned tile = back.take_tile();
  const int64_t r = int64_t(tile) * kTile + threadIdx.x;
  const int count = r < scene.rays ? march(scene, r, [](int, float, float) {}) : 0;
  __syncwarp();
  const unsigned sum = cuda::scan_warp(min(unsigned(count), add.capacity + 1), add),
                 all = __shfl_sync(~0U, sum, 31);
  const unsigned before = back.sum_before(tile, all, add), up_to = add(before, sum);
  unsigned end = up_to;
  if (!add.fits(before)) {
    if (threadIdx.x == 0) end = back.wait_for_end();
    end = __shfl_sync(~0U, end, 0);
  } else if (!add.fits(add(before, all))) {
    // Sums ascend, so the last that fits is the largest that does.
    const unsigned fitting = __ballot_sync(~0U, add.fits(up_to));
    const unsigned last = __shfl_sync(~0U, up_to, fitting == 0 ? 0 : 31 - __clz(int(fitting)));
    const unsigned at_last = fitting == 0 ? before : last;
    if (threadIdx.x == 0) back.publish_end(at_last);
    if (!add.fits(up_to)) end = at_last;
  }
  if (tile == 0 && threadIdx.x == 0) ray_begin[0] = 0;
  if (r >= scene.rays) return;
  ray_begin[r + 1] = int32_t(end);
  if (count == 0 || !add.fits(up_to)) return;
  const int64_t begin = int64_t(up_to) - count;
  march(scene, r, [&](int i, float from, float to) {
    const float length = to - from;
    t[begin + i] = from + 0.5F * length;
    delta[begin + i] = length;
  });
}

void run(const VoxelMarch::Args<float>& x) {
  const Scene scene{x.shape.rays, int(x.shape.grid), x.origins, x.directions, x.box, x.occupancy};
  const int64_t tiles = x.shape.rays / kTile + 1, largest = INT32_MAX;
  const auto capacity = unsigned(x.shape.capacity < largest ? x.shape.capacity : largest);
  const cuda::Scratch scratch(cuda::LookBack::bytes(tiles));
  const cuda::LookBack back{scratch.as<unsigned long long>()};
  cuda::fill_zero(back.memory, cuda::LookBack::bytes(tiles));
  cuda::launch(march_tile, dim3(unsigned(tiles)), dim3(kTile), 0, scene, back, cuda::AddUpTo{capacity},
               x.ray_begin, x.t, x.delta);
}

KLAB_VARIANT(VoxelMarch, {.run = run,
                          .parent = "02_skip_words",
                          .tiles = {4, kTile},
                          .expect = {.shape = {8192, 256, 1 << 20}, .over_parent = 2}});

}  // namespace
}  // namespace klab
