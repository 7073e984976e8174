// ray_march.cuda.04_look_back: count, find the place, write, in one kernel.
//
// CHANGE    a block that has counted its rays' samples finds the sum of those before in the words of earlier blocks
//           (kernels/common/look_back.h), and marches again to write: no block scans the blocks' sums, and none waits until all
//           have counted.
// EXPECT    two launches fewer, and at a training's 262,144 rays the sixteen rounds of one block. The marches stay as they are:
//           a twentieth less.
// NUMERICS  bit-exact by contract.
// NEEDS     as the parent.
// SASS      ATOMG.ADD LDG.64.STRONG STG.64.STRONG; no LDL STL CALL.div_*64
#include "harness/core/registrar.h"
#include "kernels/common/cuda.h"
#include "kernels/common/look_back.h"
#include "reference/ray_march/ray_march.h"

namespace klab {
namespace {

constexpr int kThreads = 128;

#include "kernels/ray_march/cuda/01_thread_per_ray-inl.h"

#include "kernels/ray_march/cuda/02_coarse_bits-inl.h"

__global__ void __launch_bounds__(kThreads)
    march_tile(Scene scene, Coarse coarse, const uint32_t* __restrict__ words, cuda::LookBack back,
               cuda::AddUpTo add, int32_t* __restrict__ ray_begin, float* __restrict__ t_out,
               float* __restrict__ delta) {
  KLAB_DYNAMIC_SHARED(uint32_t, coarse_bits);
  __shared__ unsigned of_warps[kThreads / 32], before_tile, of_tile, last;
  load_coarse(coarse, words, coarse_bits);
  const unsigned tile = back.take_tile();
  const int lane = int(threadIdx.x) % 32, warp = int(threadIdx.x) / 32;
  const int64_t r = int64_t(tile) * kThreads + threadIdx.x;
  const int count = r < scene.rays ? march(scene, coarse, coarse_bits, r, [](int, float) {}) : 0;
  __syncwarp();
  unsigned sum = cuda::scan_warp(min(unsigned(count), add.capacity + 1), add);
  if (lane == 31) of_warps[warp] = sum;
  __syncthreads();
  if (warp == 0) {
    const unsigned up_to = cuda::scan_warp(lane < kThreads / 32 ? of_warps[lane] : 0, add);
    const unsigned all = __shfl_sync(~0U, up_to, 31), before = back.sum_before(tile, all, add);
    const unsigned lower = __shfl_up_sync(~0U, up_to, 1);
    if (lane < kThreads / 32) of_warps[lane] = lane == 0 ? before : add(before, lower);
    if (lane == 0) before_tile = last = before, of_tile = all;
  }
  __syncthreads();
  sum = add(of_warps[warp], sum);
  if (!add.fits(before_tile)) {
    if (threadIdx.x == 0) last = back.wait_for_end();
    __syncthreads();
  } else if (!add.fits(add(before_tile, of_tile))) {
    if (add.fits(sum)) atomicMax(&last, sum);
    __syncthreads();
    if (threadIdx.x == 0) back.publish_end(last);
  }
  if (tile == 0 && threadIdx.x == 0) ray_begin[0] = 0;
  if (r >= scene.rays) return;
  ray_begin[r + 1] = int32_t(add.fits(sum) ? sum : last);
  if (count == 0 || !add.fits(sum)) return;
  const int64_t begin = int64_t(sum) - count;
  march(scene, coarse, coarse_bits, r, [&](int i, float t) {
    t_out[begin + i] = t;
    delta[begin + i] = step_at(t, scene.steps);
  });
}

void run(const RayMarch::Args<float>& x) {
  const Scene scene = scene_of(x);
  const Coarse coarse = coarse_of(x.shape);
  const size_t shared = size_t(coarse.words) * sizeof(uint32_t);
  const int64_t tiles = x.shape.rays / kThreads + 1, largest = INT32_MAX;
  const auto capacity = unsigned(x.shape.capacity < largest ? x.shape.capacity : largest);
  const cuda::Scratch scratch(cuda::LookBack::bytes(tiles) + shared);
  const cuda::LookBack back{scratch.as<unsigned long long>()};
  auto* const words = reinterpret_cast<uint32_t*>(back.memory + tiles + 2);
  cuda::fill_zero(back.memory, cuda::LookBack::bytes(tiles));
  const dim3 threads(kThreads);
  cuda::launch(coarsen, dim3(blocks_of(coarse.words * 32)), threads, 0, coarse, scene.cascades, x.occupancy,
               words);
  cuda::launch(march_tile, dim3(unsigned(tiles)), threads, shared, scene, coarse, words, back,
               cuda::AddUpTo{capacity}, x.ray_begin, x.t, x.delta);
}

KLAB_VARIANT(RayMarch, {.run = run,
                        .parent = "03_two_pass_scan",
                        .tiles = {4, kThreads},
                        .expect = {.shape = {8192, 128, 1, 1024, 1 << 20}, .over_parent = 1.02}});

}  // namespace
}  // namespace klab
