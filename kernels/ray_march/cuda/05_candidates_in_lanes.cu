// ray_march.cuda.05_candidates_in_lanes: a warp a ray, 32 candidates a ballot; what was found is kept as bits.
//
// CHANGE    lanes test candidates of one ray in place of one candidate of 32 rays: no lane waits for the longest ray, and the loads of
//           32 candidates are in flight together. First each lane asks for a stretch of 32 candidates whether any cell near it is
//           occupied (a bit for each of 32^3 blocks, dilated by a block): only those stretches are tested. Ballots are kept in
//           shared memory, so the second pass expands bits, a lane a sample, and its stores are neighbors.
// EXPECT    the parent's time is the longest ray's chain of some 500 lookups, walked twice, whatever the number of rays. Here a ray
//           takes some 400 instructions of a warp. At least 6 times faster at 8192 rays.
// NUMERICS  bit-exact by contract. On a cone a lane steps from the first candidate of its stretch as the naive loop does.
// NEEDS     as the parent. Stretches are left out with one cascade of 32^3 cells or more, where 32 steps are no longer than a
//           sixteenth of the box.
#include "harness/core/registrar.h"
#include "kernels/common/cuda.h"
#include "kernels/common/look_back.h"
#include "kernels/common/rays/candidates.h"
#include "reference/ray_march/ray_march.h"

namespace klab {
namespace {
using namespace candidates;

constexpr int kWarps = 8, kRaysPerWarp = 4, kThreads = 32 * kWarps;
constexpr int kRays = kWarps * kRaysPerWarp;  // of a block: one warp scans them
static_assert(kRays == 32);

/// Returns the word of the lane's stretch in the current chunk: bit k for its candidate k.
__device__ __forceinline__ uint32_t find(const Scene& scene, const uint32_t* __restrict__ marks,
                                         const Candidates& of) {
  const int lane = int(threadIdx.x) % 32;
  const float from = of.head(lane);
  const bool here =
      from < of.ray.leave && !(marks != nullptr && surely_empty(marks, of.ray, from, of.head(lane + 1)));
  uint32_t own = 0;
  for (uint32_t left = __ballot_sync(~0U, here); left != 0; left &= left - 1) {
    const int s = __ffs(int(left)) - 1;
    const float t = of.at(s, lane);
    const uint32_t word = __ballot_sync(~0U, t < of.ray.leave && occupied(scene, of.ray, t));
    if (lane == s) own = word;
  }
  return own;
}

__global__ void __launch_bounds__(kThreads)
    march_tile(Scene scene, const uint32_t* __restrict__ marks, cuda::LookBack back, cuda::AddUpTo add,
               int32_t* __restrict__ ray_begin, float* __restrict__ t_out, float* __restrict__ delta) {
  __shared__ Ray rays[kRays];
  __shared__ uint32_t bits[kRays][32];  // of the first chunk; later ones are found again
  __shared__ float heads[kRays][33];
  __shared__ unsigned counts[kRays], begins[kRays];
  const Steps steps{scene.steps[1], scene.steps[2], scene.steps[3]};
  const int lane = int(threadIdx.x) % 32, warp = int(threadIdx.x) / 32;
  const unsigned tile = back.take_tile();
  const int64_t first_ray = int64_t(tile) * kRays;
  if (lane < kRaysPerWarp) {
    const int own = warp * kRaysPerWarp + lane;
    const Ray ray = ray_of(scene, steps, first_ray + own);
    rays[own] = ray;
    if (steps.cone != 0) step_through(heads[own], ray.first, ray.leave, steps);
  }
  __syncwarp();
  for (int own = warp * kRaysPerWarp; own < (warp + 1) * kRaysPerWarp; ++own) {
    const Ray ray = rays[own];
    unsigned count = 0;
    if (ray.first < ray.leave) {
      Candidates of{ray, steps, heads[own], 0};
      for (;;) {
        const uint32_t word = find(scene, marks, of);
        if (of.chunk == 0) bits[own][lane] = word;
        count += __reduce_add_sync(~0U, unsigned(__popc(word)));
        if (count >= unsigned(scene.max_samples) || !(of.head(32) < ray.leave)) break;
        of.advance();
      }
    }
    if (lane == 0) counts[own] = min(count, unsigned(scene.max_samples));
  }
  __syncthreads();
  if (warp == 0) {
    const unsigned count = counts[lane];
    const unsigned up_to = cuda::scan_warp(min(count, add.capacity + 1), add);
    const unsigned all = __shfl_sync(~0U, up_to, 31), before = back.sum_before(tile, all, add);
    const unsigned sum = add(before, up_to);
    unsigned last = before;
    if (!add.fits(before)) {
      last = __shfl_sync(~0U, lane == 0 ? back.wait_for_end() : 0, 0);
    } else if (!add.fits(add(before, all))) {
      last = __reduce_max_sync(~0U, add.fits(sum) ? sum : before);
      if (lane == 0) back.publish_end(last);
    }
    if (tile == 0 && lane == 0) ray_begin[0] = 0;
    if (first_ray + lane < scene.rays) ray_begin[first_ray + lane + 1] = int32_t(add.fits(sum) ? sum : last);
    if (!add.fits(sum)) counts[lane] = 0;
    begins[lane] = sum - count;
  }
  __syncthreads();
  for (int own = warp * kRaysPerWarp; own < (warp + 1) * kRaysPerWarp; ++own) {
    const unsigned count = counts[own];
    if (count == 0) continue;
    const Ray ray = rays[own];
    const int64_t begin = begins[own];
    Candidates of{ray, steps, heads[own], 0};
    of.restart();
    unsigned done = 0;
    for (;;) {
      const uint32_t word = of.chunk == 0 ? bits[own][lane] : find(scene, marks, of);
      for (uint32_t left = __ballot_sync(~0U, word != 0); left != 0; left &= left - 1) {
        const int s = __ffs(int(left)) - 1;
        const uint32_t found = __shfl_sync(~0U, word, s);
        const unsigned place = done + unsigned(__popc(found & ((1U << lane) - 1)));
        if ((found >> lane & 1) != 0 && place < count) {
          const float t = of.at(s, lane);
          t_out[begin + place] = t;
          delta[begin + place] = step_at(t, steps);
        }
        done += unsigned(__popc(found));
      }
      if (done >= count) break;
      of.advance();
    }
  }
}

void run(const RayMarch::Args<float>& x) {
  const RayMarch::Shape& s = x.shape;
  const Scene scene{s.rays,       int(s.grid), int(s.cascades), int(s.max_samples), x.origins,
                    x.directions, x.jitter,    x.steps,         x.occupancy};
  const int64_t tiles = s.rays / kRays + 1, largest = INT32_MAX;
  const auto capacity = unsigned(s.capacity < largest ? s.capacity : largest);
  const cuda::Scratch scratch(cuda::LookBack::bytes(tiles) + kBlocks * kBlocks * sizeof(uint32_t));
  const cuda::LookBack back{scratch.as<unsigned long long>()};
  uint32_t* marks = nullptr;
  if (s.cascades == 1 && s.grid >= kBlocks) {
    marks = reinterpret_cast<uint32_t*>(back.memory + tiles + 2);
    int shift = 0;
    while (kBlocks << shift < s.grid) ++shift;
    const bool whole = shift >= 2 && reinterpret_cast<uintptr_t>(x.occupancy) % 8 == 0;
    cuda::launch(mark_blocks, dim3(kBlocks * kBlocks * kBlocks / kMarkThreads), dim3(kMarkThreads), 0, shift,
                 whole, x.occupancy, marks, back.memory, tiles + 2);
  } else {
    cuda::fill_zero(back.memory, cuda::LookBack::bytes(tiles));
  }
  cuda::launch(march_tile, dim3(unsigned(tiles)), dim3(kThreads), 0, scene, marks, back,
               cuda::AddUpTo{capacity}, x.ray_begin, x.t, x.delta);
}

KLAB_VARIANT(RayMarch, {.run = run,
                        .parent = "04_look_back",
                        .tiles = {4, 32, kRays, 1024},
                        .expect = {.shape = {8192, 128, 1, 1024, 1 << 20}, .over_parent = 6}});

}  // namespace
}  // namespace klab
