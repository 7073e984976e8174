// window_sum.cpu.06_threads: groups shared out among the cores.
//
// CHANGE    each thread takes a run of whole groups; short windows are cut at multiples of a cache line. Narrow windows
//           are summed as 03_simd does, as in 05_by_radius.
// EXPECT    the number of cores in cache; beyond it as much as one core leaves of the memory's bandwidth.
//           Windows longer than n leave one group, and one thread.
// NUMERICS  as the parent, bit for bit: groups begin where they began.
// NEEDS     nothing. Short vectors stay on one thread.
#include <omp.h>

#include <algorithm>

#include "harness/core/registrar.h"
#include "kernels/common/simd.h"
#include "reference/window_sum/window_sum.h"

#include "kernels/common/lanes-inl.h"

KLAB_SIMD_BEGIN();

#include "kernels/window_sum/cpu/04_scan-inl.h"

#include "kernels/window_sum/cpu/05_by_radius-inl.h"

// Part k of `parts` of all outputs.
void sums(const WindowSum::Args<float>& args, int64_t k, int64_t parts) {
  const int64_t n = args.shape.n, r = std::min(args.shape.r, n);  // beyond n, a window holds everything
  const int64_t window = 2 * r + 1, unit = r <= kShort ? 16 : window, units = (n + unit - 1) / unit;
  const int64_t begin = units * k / parts * unit, end = std::min(n, units * (k + 1) / parts * unit);
  if (r <= kShort) return direct(args.x, args.y, n, r, begin, end);
  for (int64_t first = begin; first < end; first += window) group(args.x, args.y, n, r, first);
}

KLAB_SIMD_ONCE(sums);

#if HWY_ONCE
void run(const WindowSum::Args<float>& x) {
  constexpr int64_t kEnough = 1 << 14;  // elements worth waking a team for
  const auto part = HWY_DYNAMIC_DISPATCH(sums);
  if (x.shape.n < kEnough) return part(x, 0, 1);
#pragma omp parallel
  part(x, omp_get_thread_num(), omp_get_num_threads());
}

KLAB_VARIANT(WindowSum, {.run = run,
                         .parent = "04_scan",
                         .tiles = {16},
                         .expect = {.shape = {1 << 22, 100}, .over_parent = 1.3}});
KLAB_SIMD_CLOSE();
#endif
