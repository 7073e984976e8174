// Candidates of a ray march, a chunk of 32 stretches of 32 at a time: where they are, and which stretches are surely empty.
#pragma once

#include "kernels/common/cuda.h"

namespace klab::candidates {
namespace {

constexpr int kStretch = 32, kChunk = 32 * kStretch;  // candidates of a lane's word, of a warp's words
constexpr int kBlocks = 32;                           // along an edge of the box, each with a mark
constexpr int kMarkThreads = 256;

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
  float enter = scene.steps[0], leave = scene.steps[4];
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

/// A bit for each block of the grid's 32^3: whether a cell in it or in one of its 26 neighbors is occupied. A warp a row along
/// x. Clears the words of the scan, too.
__global__ void __launch_bounds__(kMarkThreads)
    mark_blocks(int shift, bool whole, const uint8_t* __restrict__ occupancy, uint32_t* __restrict__ marks,
                unsigned long long* __restrict__ clear, int64_t words) {
  const int i = int(blockIdx.x) * kMarkThreads + int(threadIdx.x);
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

}  // namespace
}  // namespace klab::candidates
