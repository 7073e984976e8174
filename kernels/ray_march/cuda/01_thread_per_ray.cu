// ray_march.cuda.01_thread_per_ray: one thread per ray, every candidate is looked up in the grid.
//
// CHANGE    the naive loop of each ray in its own thread, twice: the counts of all earlier rays must be known
//           before a ray's first sample can be written. In between one thread adds up the counts.
// EXPECT    bound by lookups, one after the other, most of them in empty cells; lanes whose rays have ended
//           wait for the longest. The time of the single thread in between is negligible for a hundred rays,
//           but not for 8192.
// NUMERICS  bit-exact by contract.
#include "harness/core/registrar.h"
#include "kernels/common/cuda.h"
#include "reference/ray_march/ray_march.h"

namespace klab {
namespace {

constexpr int kThreads = 128;

#include "kernels/ray_march/cuda/01_thread_per_ray-inl.h"

__device__ __forceinline__ bool occupied(const Scene& scene, const Place& at) {
  const uint32_t index = spread(at.cell[0]) | spread(at.cell[1]) << 1 | spread(at.cell[2]) << 2;
  const int64_t bytes = int64_t(scene.grid) * scene.grid * scene.grid / 8;
  return scene.occupancy[at.cascade * bytes + index / 8] >> (index % 8) & 1;
}

/// Calls take(i, t) for sample i of ray r, at distance t; returns their number.
template <class Take>
__device__ __forceinline__ int march(const Scene& scene, int64_t r, Take take) {
  float o[3], d[3], enter = scene.steps[0], leave = scene.steps[4];
  const float side = float(1 << (scene.cascades - 1));
  for (int axis = 0; axis < 3; ++axis) {
    o[axis] = scene.origins[axis * scene.rays + r];
    d[axis] = scene.directions[axis * scene.rays + r];
    const float inverse = 1.0F / direction_or_tiny(d[axis]);
    const float a = (0.5F - 0.5F * side - o[axis]) * inverse, b = (0.5F + 0.5F * side - o[axis]) * inverse;
    enter = fmaxf(enter, fminf(a, b));
    leave = fminf(leave, fmaxf(a, b));
  }
  if (!(enter < leave)) return 0;
  const float first = sum_of_product(enter, scene.jitter[r], step_at(enter, scene.steps));
  float t = first;
  int count = 0;
  for (int k = 0; t < leave && count < scene.max_samples;) {
    if (occupied(scene, locate(scene, o, d, t))) take(count++, t);
    ++k;
    t = scene.steps[3] == 0 ? sum_of_product(first, float(k), scene.steps[1])
                            : __fadd_rn(t, step_at(t, scene.steps));
  }
  return count;
}

__global__ void __launch_bounds__(kThreads) count_samples(Scene scene, int* __restrict__ counts) {
  const int64_t r = int64_t(blockIdx.x) * kThreads + threadIdx.x;
  if (r < scene.rays) counts[r] = march(scene, r, [](int, float) {});
}

#include "kernels/common/rays/01_thread_per_ray-inl.h"

__global__ void __launch_bounds__(kThreads)
    write_samples(Scene scene, const int32_t* __restrict__ ray_begin, float* __restrict__ t_out,
                  float* __restrict__ delta) {
  const int64_t r = int64_t(blockIdx.x) * kThreads + threadIdx.x;
  if (r >= scene.rays || ray_begin[r] == ray_begin[r + 1]) return;
  const int64_t begin = ray_begin[r];
  march(scene, r, [&](int i, float t) {
    t_out[begin + i] = t;
    delta[begin + i] = step_at(t, scene.steps);
  });
}

void run(const RayMarch::Args<float>& x) {
  const int64_t rays = x.shape.rays;
  const dim3 blocks(unsigned((rays + kThreads - 1) / kThreads)), threads(kThreads);
  cuda::Scratch scratch(size_t(rays + 1) * sizeof(int));
  int* counts = scratch.as<int>();
  if (rays > 0) cuda::launch(count_samples, blocks, threads, 0, scene_of(x), counts);
  cuda::launch(sum_counts, dim3(1), dim3(1), 0, rays, x.shape.capacity, counts, x.ray_begin);
  if (rays > 0) cuda::launch(write_samples, blocks, threads, 0, scene_of(x), x.ray_begin, x.t, x.delta);
}

KLAB_VARIANT(RayMarch, {.run = run, .tiles = {kThreads}, .was = {"01_thread_a_ray"}});

}  // namespace
}  // namespace klab
