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

/// The inputs, as the contract has them.
struct Scene {
  int64_t rays;
  int grid;
  const float *origins, *directions, *box;
  const uint8_t* occupancy;
};

/// Bits of a cell coordinate, two zeros between each and the next.
__device__ __forceinline__ uint32_t spread(uint32_t v) {
  v = (v | v << 16) & 0x030000FFU;
  v = (v | v << 8) & 0x0300F00FU;
  v = (v | v << 4) & 0x030C30C3U;
  return (v | v << 2) & 0x09249249U;
}

/// A ray in cell units, or relative to the middle of a grid whose cells grow.
struct Line {
  float u[3], v[3], inverse[3];
  float enter, leave;
  int cell[3];
  int grid, shells;  // below 2 shells: cells of one size

  __device__ __forceinline__ float plane(int axis, int k) const {
    return ((shells < 2 ? float(k) : graded_plane(shells, k, grid)) - u[axis]) * inverse[axis];
  }
  /// Two roundings, as the contract has them; a compiler for GPUs would make one of them.
  __device__ __forceinline__ float place(int axis, float t) const {
    const float there = __fadd_rn(u[axis], __fmul_rn(t, v[axis]));
    return shells < 2 ? there : graded_place(shells, there) * float(grid);
  }
  __device__ __forceinline__ float exit(int axis, int c) const { return plane(axis, c + (v[axis] > 0)); }
};

__device__ __forceinline__ Line line_of(const Scene& scene, int64_t r) {
  const float side = scene.box[1];
  Line l{};
  l.grid = scene.grid;
  l.shells = scene.box[2] != 0 ? ilogbf(side) : 0;
  const bool even = l.shells < 2;
  const float scale = even ? float(scene.grid) / side : 1, begin = even ? 0.5F - 0.5F * side : 0.5F;
  l.enter = scene.box[0];
  l.leave = INFINITY;
  for (int axis = 0; axis < 3; ++axis) {
    float d = scene.directions[axis * scene.rays + r];
    if (fabsf(d) < 1e-9F) d = copysignf(1e-9F, d);
    l.u[axis] = (scene.origins[axis * scene.rays + r] - begin) * scale;
    l.v[axis] = d * scale;
    l.inverse[axis] = 1.0F / l.v[axis];
    const float a = l.plane(axis, 0), b = l.plane(axis, scene.grid);
    l.enter = fmaxf(l.enter, fminf(a, b));
    l.leave = fminf(l.leave, fmaxf(a, b));
  }
  for (int axis = 0; axis < 3; ++axis) {
    const float at = floorf(l.place(axis, l.enter));
    l.cell[axis] = int(fminf(fmaxf(at, 0.0F), float(scene.grid - 1)));
  }
  return l;
}

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

__global__ void __launch_bounds__(kThreads) count_pieces(Scene scene, int* __restrict__ counts) {
  const int64_t r = int64_t(blockIdx.x) * kThreads + threadIdx.x;
  if (r < scene.rays) counts[r] = march(scene, r, [](int, float, float) {});
}

/// One thread. ray_begin becomes the sum of the counts before each ray, as far as rays fit whole.
__global__ void sum_counts(int64_t rays, int64_t capacity, const int* __restrict__ counts,
                           int32_t* __restrict__ ray_begin) {
  int64_t total = 0;
  bool full = false;
  for (int64_t r = 0; r < rays; ++r) {
    ray_begin[r] = int32_t(total);
    full = full || total + counts[r] > capacity;
    if (!full) total += counts[r];
  }
  ray_begin[rays] = int32_t(total);
}

__global__ void __launch_bounds__(kThreads) write_pieces(Scene scene, const int32_t* __restrict__ ray_begin,
                                                         float* __restrict__ t, float* __restrict__ delta) {
  const int64_t r = int64_t(blockIdx.x) * kThreads + threadIdx.x;
  if (r >= scene.rays || ray_begin[r] == ray_begin[r + 1]) return;
  const int64_t begin = ray_begin[r];
  march(scene, r, [&](int i, float from, float to) {
    const float length = to - from;
    t[begin + i] = from + 0.5F * length;
    delta[begin + i] = length;
  });
}

void run(const VoxelMarch::Args<float>& x) {
  const int64_t rays = x.shape.rays;
  const Scene scene{rays, int(x.shape.grid), x.origins, x.directions, x.box, x.occupancy};
  const auto blocks = unsigned((rays + kThreads - 1) / kThreads);
  cuda::Scratch counts(size_t(rays + 1) * sizeof(int));
  if (rays > 0) cuda::launch(count_pieces, dim3(blocks), dim3(kThreads), 0, scene, counts.as<int>());
  cuda::launch(sum_counts, dim3(1), dim3(1), 0, rays, x.shape.capacity, counts.as<int>(), x.ray_begin);
  if (rays > 0) cuda::launch(write_pieces, dim3(blocks), dim3(kThreads), 0, scene, x.ray_begin, x.t, x.delta);
}

KLAB_VARIANT(VoxelMarch, {.run = run, .tiles = {kThreads}});

}  // namespace
}  // namespace klab
