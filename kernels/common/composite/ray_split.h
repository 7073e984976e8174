// Rays shared out among threads so that each gets about as many samples.
#pragma once

#include <omp.h>

#include <algorithm>
#include <cstdint>

namespace klab {

/// Returns the first ray of part `k` of `parts`; part k ends where part k+1 begins. ray_begin [rays+1],
/// ascending from 0. Depends on the sample counts only, so the same number of threads gives the same parts.
inline int64_t split_rays(const int32_t* ray_begin, int64_t rays, int64_t k, int64_t parts) {
  if (k <= 0) return 0;
  if (k >= parts) return rays;
  const int64_t target = int64_t(ray_begin[rays]) * k / parts;
  return std::lower_bound(ray_begin, ray_begin + rays, target) - ray_begin;
}

/// Calls part(begin, end) on each thread of a team with its rays. Where it is not `worth` waking a team, calls
/// part(0, rays).
template <class Part>
void parallel_rays(const int32_t* ray_begin, int64_t rays, bool worth, const Part& part) {
#pragma omp parallel if (worth)
  {
    const int64_t k = omp_get_thread_num(), parts = omp_get_num_threads();
    part(split_rays(ray_begin, rays, k, parts), split_rays(ray_begin, rays, k + 1, parts));
  }
}

}  // namespace klab
