// Several short rays in a warp: whole rays that follow each other share 32 lanes, a lane a sample. Shared by the CUDA
// rungs of composite_fwd, composite_bwd and composite_loss_bwd.
//
// Scans stay within a ray because a lane knows where its ray's samples begin: a step that would reach a lane before
// that is left out.
#pragma once

#include <algorithm>

#include "kernels/common/cuda.h"

namespace klab {
namespace {

constexpr int kLanes = 32;
constexpr unsigned kAllLanes = ~0U;

/// Consecutive rays of a warp, at most 32: lane k owns ray first + k. Lanes without a ray own an empty one behind the others.
struct WarpRays {
  int64_t first;
  int count;       // the same in all lanes
  int begin, end;  // samples of the lane's own ray
  bool owner;      // the lane has a ray

  __device__ __forceinline__ WarpRays(int64_t rays, int each, const int32_t* __restrict__ ray_begin) {
    const int lane = int(threadIdx.x) % kLanes;
    first = (int64_t(blockIdx.x) * blockDim.x + threadIdx.x) / kLanes * each;
    count = int(max(int64_t(0), min(int64_t(each), rays - first)));
    owner = lane < count;
    begin = count > 0 ? ray_begin[first + min(lane, count)] : 0;
    end = count > 0 ? ray_begin[first + min(lane + 1, count)] : 0;
  }
  /// Returns how many rays from `from` on have at most 32 samples together.
  __device__ __forceinline__ int fitting(int from) const {
    const int lane = int(threadIdx.x) % kLanes;
    const int start = __shfl_sync(kAllLanes, begin, from);
    return __popc(__ballot_sync(kAllLanes, lane >= from && owner && end - start <= kLanes));
  }
};

/// The samples of rays [from, to) of a warp, at most 32.
struct RayPack {
  int64_t i;    // the lane's sample
  bool inside;  // it exists
  int ray;      // the lane that owns the sample's ray
  int head;     // the lane with the first sample of that ray
  int last;  // the lane with the last sample of the lane's own ray; -1 where that is empty or not in the pack

  __device__ __forceinline__ RayPack(const WarpRays& rays, int from, int to) {
    const int lane = int(threadIdx.x) % kLanes;
    const int start = __shfl_sync(kAllLanes, rays.begin, from);
    const int stop = __shfl_sync(kAllLanes, rays.end, to - 1);
    inside = start + lane < stop;
    i = start + lane;
    ray = from;  // becomes the last ray that begins at the sample or before it; empty ones lie before it
#pragma unroll
    for (int step = kLanes / 2; step > 0; step /= 2) {
      const int begin = __shfl_sync(kAllLanes, rays.begin, (ray + step) % kLanes);
      if (ray + step < to && begin <= start + lane) ray += step;
    }
    const int begin = __shfl_sync(kAllLanes, rays.begin, ray);
    head = inside ? begin - start : lane;
    last = lane >= from && lane < to && rays.begin < rays.end ? rays.end - 1 - start : -1;
  }

  /// Returns the product over the samples of the ray up to the lane's own.
  __device__ __forceinline__ float product_up_to(float value) const {
    const int lane = int(threadIdx.x) % kLanes;
#pragma unroll
    for (int step = 1; step < kLanes; step *= 2) {
      const float before = __shfl_up_sync(kAllLanes, value, step);
      if (lane - step >= head) value *= before;
    }
    return value;
  }
  __device__ __forceinline__ float sum_up_to(float value) const {
    const int lane = int(threadIdx.x) % kLanes;
#pragma unroll
    for (int step = 1; step < kLanes; step *= 2) {
      const float before = __shfl_up_sync(kAllLanes, value, step);
      if (lane - step >= head) value += before;
    }
    return value;
  }
  /// Returns the value of the sample before, `at_head` for the first of a ray.
  __device__ __forceinline__ float before(float value, float at_head) const {
    const float other = __shfl_up_sync(kAllLanes, value, 1);
    return int(threadIdx.x) % kLanes > head ? other : at_head;
  }
  /// Returns the value that the owner of the sample's ray has.
  __device__ __forceinline__ float of_ray(float value) const { return __shfl_sync(kAllLanes, value, ray); }
  /// Returns, to the owner of a ray, the value of its last sample; `empty` for a ray without samples.
  __device__ __forceinline__ float at_end(float value, float empty) const {
    const float found = __shfl_sync(kAllLanes, value, max(last, 0));
    return last >= 0 ? found : empty;
  }
};

/// Returns how many rays a warp takes: those of one pack, and up to four packs if there are more warps than a GPU holds at
/// once.
inline int rays_of_a_warp(int64_t rays, int64_t samples) {
  constexpr int64_t kHeld = 8192;
  int each = 1;
  while (each < kLanes && samples * (2 * each) <= (rays > kHeld * each ? 4 : 1) * kLanes * rays) each *= 2;
  return each;
}

}  // namespace
}  // namespace klab
