// Loops cut into one contiguous range for each thread.
#pragma once

#include <omp.h>

#include <cstdint>

namespace klab {

/// Calls part(begin, end) on each thread of a team with its range of [0, n). Ranges begin at multiples of `align` and
/// are of about the same length; they depend on n, align and the number of threads only. Where it is not `worth`
/// waking a team, calls part(0, n).
template <class Part>
void parallel_ranges(int64_t n, bool worth, int64_t align, const Part& part) {
  if (!worth) return part(int64_t{0}, n);
#pragma omp parallel
  {
    const int64_t k = omp_get_thread_num(), parts = omp_get_num_threads(), units = n / align;
    part(units * k / parts * align, k + 1 == parts ? n : units * (k + 1) / parts * align);
  }
}

}  // namespace klab
