// ray_march.cuda.02_coarse_bits: the Morton grid's coarse bits in shared memory, and jumps over cells that
// they mark empty.
//
// CHANGE    the grid does not fit into shared memory, but one bit for each 4x4x4 cells, which are neighbors
//           on the Morton curve, does: 4 KB instead of 262. Each block of threads holds a copy; the grid
//           itself is read only where the coarse bit is set. An empty coarse cell, or an empty cell, is left
//           in one jump.
// EXPECT    in empty space one lookup in shared memory for some twenty candidates instead of twenty in L2. At
//           least 4 times faster where most of the box is empty; a little slower where it is full.
// NUMERICS  bit-exact by contract: a jump stops short of the border by more than its own rounding error, and
//           the candidates in that margin are tested one by one.
// NEEDS     16 KB of shared memory at most: finer grids and more cascades get larger coarse cells.
#include "harness/core/registrar.h"
#include "kernels/common/cuda.h"
#include "reference/ray_march/ray_march.h"

namespace klab {
namespace {

constexpr int kThreads = 128;

#include "kernels/ray_march/cuda/01_thread_per_ray-inl.h"

#include "kernels/ray_march/cuda/02_coarse_bits-inl.h"

__global__ void __launch_bounds__(kThreads)
    count_samples(Scene scene, Coarse coarse, const uint32_t* __restrict__ words, int* __restrict__ counts) {
  KLAB_DYNAMIC_SHARED(uint32_t, coarse_bits);
  load_coarse(coarse, words, coarse_bits);
  const int64_t r = int64_t(blockIdx.x) * kThreads + threadIdx.x;
  if (r < scene.rays) counts[r] = march(scene, coarse, coarse_bits, r, [](int, float) {});
}

#include "kernels/common/rays/01_thread_per_ray-inl.h"

__global__ void __launch_bounds__(kThreads)
    write_samples(Scene scene, Coarse coarse, const uint32_t* __restrict__ words,
                  const int32_t* __restrict__ ray_begin, float* __restrict__ t_out,
                  float* __restrict__ delta) {
  KLAB_DYNAMIC_SHARED(uint32_t, coarse_bits);
  load_coarse(coarse, words, coarse_bits);
  const int64_t r = int64_t(blockIdx.x) * kThreads + threadIdx.x;
  if (r >= scene.rays || ray_begin[r] == ray_begin[r + 1]) return;
  const int64_t begin = ray_begin[r];
  march(scene, coarse, coarse_bits, r, [&](int i, float t) {
    t_out[begin + i] = t;
    delta[begin + i] = step_at(t, scene.steps);
  });
}

void run(const RayMarch::Args<float>& x) {
  const int64_t rays = x.shape.rays;
  const Scene scene = scene_of(x);
  const Coarse coarse = coarse_of(x.shape);
  const size_t shared = size_t(coarse.words) * sizeof(uint32_t);
  const dim3 blocks(blocks_of(rays)), threads(kThreads);
  cuda::Scratch scratch(shared + size_t(rays + 1) * sizeof(int));
  auto* words = scratch.as<uint32_t>();
  auto* counts = reinterpret_cast<int*>(words + coarse.words);
  if (rays > 0) {
    cuda::launch(coarsen, dim3(blocks_of(coarse.words * 32)), threads, 0, coarse, scene.cascades, x.occupancy,
                 words);
    cuda::launch(count_samples, blocks, threads, shared, scene, coarse, words, counts);
  }
  cuda::launch(sum_counts, dim3(1), dim3(1), 0, rays, x.shape.capacity, counts, x.ray_begin);
  if (rays > 0)
    cuda::launch(write_samples, blocks, threads, shared, scene, coarse, words, x.ray_begin, x.t, x.delta);
}

KLAB_VARIANT(RayMarch, {.run = run,
                        .parent = "01_thread_per_ray",
                        .tiles = {4, kThreads},
                        .expect = {.shape = {8192, 128, 1, 1024, 1 << 20}, .over_parent = 2}});

}  // namespace
}  // namespace klab
