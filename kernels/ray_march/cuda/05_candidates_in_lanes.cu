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
#include "reference/ray_march/ray_march.h"

namespace klab {
namespace {

constexpr int kWarps = 8, kRaysPerWarp = 4, kThreads = 32 * kWarps;
constexpr int kRays = kWarps * kRaysPerWarp;  // of a block: one warp scans them
static_assert(kRays == 32);
constexpr int kStretch = 32, kChunk = 32 * kStretch;  // candidates of a lane's word, of a warp's words
constexpr int kBlocks = 32;                           // along an edge of the box, each with a mark

/// The inputs, as the contract has them.
struct Scene {
  int64_t rays;
  int grid, cascades, max_samples;
  const float *origins, *directions, *jitter, *steps;
  const uint8_t* occupancy;
};

struct Steps {
  float shortest, longest, cone;
};

struct Ray {
  float origin[3], direction[3], first, leave;
};

// The contract's arithmetic decides the cell of a position, to the last bit. A GPU compiler fuses a product
// and a sum into one operation with one rounding, unless each is an explicit intrinsic.
__device__ __forceinline__ float sum_of_product(float a, float b, float c) {
  return __fadd_rn(a, __fmul_rn(b, c));
}

__device__ __forceinline__ float step_at(float t, const Steps& steps) {
  return fminf(fmaxf(__fmul_rn(t, steps.cone), steps.shortest), steps.longest);
}

__device__ __forceinline__ float direction_or_tiny(float d) {
  return fabsf(d) < 1e-9F ? copysignf(1e-9F, d) : d;
}

/// Bits of a cell coordinate, two zeros between each and the next.
__device__ __forceinline__ uint32_t spread(uint32_t v) {
  v = (v | v << 16) & 0x030000FFU;
  v = (v | v << 8) & 0x0300F00FU;
  v = (v | v << 4) & 0x030C30C3U;
  return (v | v << 2) & 0x09249249U;
}

__device__ __forceinline__ bool occupied(const Scene& scene, const Ray& ray, float t) {
  float c[3];
  for (int axis = 0; axis < 3; ++axis)
    c[axis] = __fsub_rn(sum_of_product(ray.origin[axis], t, ray.direction[axis]), 0.5F);
  const float away = fmaxf(fmaxf(fabsf(c[0]), fabsf(c[1])), fabsf(c[2]));
  int cascade = 0;
  float half = 0.5F;
  for (; cascade + 1 < scene.cascades && !(away < half); half *= 2) ++cascade;
  const float to_cube = 1.0F / float(1 << cascade);  // a power of two: exact
  uint32_t index = 0;
  for (int axis = 0; axis < 3; ++axis) {
    const int cell = int(floorf(__fadd_rn(c[axis] * to_cube, 0.5F) * float(scene.grid)));
    index |= spread(uint32_t(min(max(cell, 0), scene.grid - 1))) << axis;
  }
  const int64_t bytes = int64_t(scene.grid) * scene.grid * scene.grid / 8;
  return scene.occupancy[cascade * bytes + index / 8] >> (index % 8) & 1;
}

/// A ray that misses the box, or does not exist, leaves before its first candidate.
__device__ __forceinline__ Ray ray_of(const Scene& scene, const Steps& steps, int64_t r) {
  Ray ray{{}, {}, INFINITY, -INFINITY};
  if (r >= scene.rays) return ray;
  float enter = scene.steps[0], leave = INFINITY;
  const float side = float(1 << (scene.cascades - 1));
  for (int axis = 0; axis < 3; ++axis) {
    const float o = scene.origins[axis * scene.rays + r], d = scene.directions[axis * scene.rays + r];
    const float inverse = 1.0F / direction_or_tiny(d);
    const float a = (0.5F - 0.5F * side - o) * inverse, b = (0.5F + 0.5F * side - o) * inverse;
    enter = fmaxf(enter, fminf(a, b));
    leave = fminf(leave, fmaxf(a, b));
    ray.origin[axis] = o;
    ray.direction[axis] = d;
  }
  if (!(enter < leave)) return ray;
  ray.first = sum_of_product(enter, scene.jitter[r], step_at(enter, steps));
  ray.leave = leave;
  return ray;
}

/// Whether a block of threads' marks rule out that a candidate between two distances is in an occupied cell. They do if
/// the stretch reaches less than a block from its middle, with room for rounding.
__device__ __forceinline__ bool surely_empty(const uint32_t* __restrict__ marks, const Ray& ray, float from,
                                             float to) {
  const float reach = 0.5F * (to - from), middle = from + reach;
  int block[3];
  bool near = true;
  for (int axis = 0; axis < 3; ++axis) {
    const float o = ray.origin[axis], d = ray.direction[axis];
    near = near && reach * fabsf(d) + 2e-6F * (1.0F + fabsf(o) + fabsf(to * d)) <= 1.0F / float(kBlocks);
    block[axis] = int(fminf(fmaxf((o + middle * d) * float(kBlocks), 0.0F), float(kBlocks - 1)));
  }
  return near && (marks[block[2] * kBlocks + block[1]] >> block[0] & 1) == 0;
}

/// Writes the first distance of each of a chunk's stretches, and that of the chunk behind. One thread calls it.
__device__ __forceinline__ void step_through(float* heads, float t, float leave, const Steps& steps) {
  for (int s = 0; s < 32; ++s) {
    heads[s] = t;
    for (int k = 0; k < kStretch && t < leave; ++k) t = __fadd_rn(t, step_at(t, steps));
  }
  heads[32] = t;
}

/// The candidates of one ray, a chunk of 32 stretches at a time. All lanes of a warp call its functions.
struct Candidates {
  const Ray& ray;
  const Steps& steps;
  float* heads;  // on a cone, of the current chunk; 33 floats
  int chunk;

  __device__ __forceinline__ bool even() const { return steps.cone == 0; }
  /// Distance of the first candidate of stretch s, from 0 to 32.
  __device__ __forceinline__ float head(int s) const {
    return even() ? sum_of_product(ray.first, float(chunk * kChunk + s * kStretch), steps.shortest)
                  : heads[s];
  }
  /// Distance of candidate `k` of stretch s.
  __device__ __forceinline__ float at(int s, int k) const {
    if (even()) return sum_of_product(ray.first, float(chunk * kChunk + s * kStretch + k), steps.shortest);
    float t = heads[s];
    for (int i = 0; i < k; ++i) t = __fadd_rn(t, step_at(t, steps));
    return t;
  }
  /// Makes chunk 0 current, or the one behind the current.
  __device__ __forceinline__ void restart() {
    chunk = 0;
    if (!even() && heads[0] != ray.first) step_on(ray.first);
  }
  __device__ __forceinline__ void advance() {
    ++chunk;
    if (!even()) step_on(heads[32]);
  }
  __device__ __forceinline__ void step_on(float from) const {
    __syncwarp();
    if (threadIdx.x % 32 == 0) step_through(heads, from, ray.leave, steps);
    __syncwarp();
  }
};

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

/// A bit for each block of the grid's 32^3: whether a cell in it or in one of its 26 neighbors is occupied. A warp a row along
/// x. Clears the words of the scan, too.
__global__ void __launch_bounds__(kThreads)
    mark_blocks(int shift, bool whole, const uint8_t* __restrict__ occupancy, uint32_t* __restrict__ marks,
                unsigned long long* __restrict__ clear, int64_t words) {
  const int i = int(blockIdx.x) * kThreads + int(threadIdx.x);
  for (int64_t w = i; w < words; w += kBlocks * kBlocks * kBlocks) clear[w] = 0;
  const int x = i % kBlocks, y = i / kBlocks % kBlocks, z = i / kBlocks / kBlocks;
  bool any = false;
  for (int dz = -1; dz <= 1; ++dz)
    for (int dy = -1; dy <= 1; ++dy) {
      const int by = y + dy, bz = z + dz;
      if (by < 0 || by >= kBlocks || bz < 0 || bz >= kBlocks) continue;
      const uint32_t index = spread(uint32_t(x)) | spread(uint32_t(by)) << 1 | spread(uint32_t(bz)) << 2;
      if (shift == 0) {
        any = any || (occupancy[index / 8] >> (index % 8) & 1) != 0;
        continue;
      }
      const int64_t bytes = int64_t(1) << (3 * shift) >> 3;
      const uint8_t* const first = occupancy + index * bytes;
      if (whole)
        for (int64_t b = 0; b < bytes; b += 8)
          any = any || *reinterpret_cast<const unsigned long long*>(first + b) != 0;
      else
        for (int64_t b = 0; b < bytes; ++b) any = any || first[b] != 0;
    }
  const uint32_t row = __ballot_sync(~0U, any);
  if (x == 0) marks[i / kBlocks] = row | row << 1 | row >> 1;
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
    cuda::launch(mark_blocks, dim3(kBlocks * kBlocks * kBlocks / kThreads), dim3(kThreads), 0, shift, whole,
                 x.occupancy, marks, back.memory, tiles + 2);
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
