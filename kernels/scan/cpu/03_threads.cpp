// scan.cpu.03_threads: the team takes stretches that stay in its caches.
//
// CHANGE    each thread adds up a stretch of 32,768 elements, waits for the others, and scans it from the sum of all before it; then
//           the team goes to its next stretches.
// EXPECT    an element is read twice, but the second time from L2: 8 bytes of memory an element, as before. Up to the number of cores
//           in time; beyond the caches what one core leaves of the memory's bandwidth.
// NUMERICS  as the parent: whole numbers.
// NEEDS     nothing. Few elements stay on one thread.
// TRIED     see NOTES.md, cpu.03_threads
#include <omp.h>

#include <algorithm>
#include <vector>

#include "harness/core/registrar.h"
#include "kernels/common/simd.h"
#include "reference/scan/scan.h"

KLAB_SIMD_BEGIN();

#include "kernels/scan/cpu/02_simd-inl.h"

/// The sum of elements [i, end).
uint32_t sum_run(const Scan::Args<float>& x, int64_t i, int64_t end) {
  const hn::ScalableTag<uint32_t> d;
  const int64_t lanes = int64_t(hn::Lanes(d));
  auto a = hn::Zero(d), b = a;
  for (; i + 2 * lanes <= end; i += 2 * lanes) {
    a = hn::Add(a, hn::LoadU(d, x.x + i));
    b = hn::Add(b, hn::LoadU(d, x.x + i + lanes));
  }
  uint32_t sum = hn::GetLane(hn::SumOfLanes(d, hn::Add(a, b)));
  for (; i < end; ++i) sum += x.x[i];
  return sum;
}

KLAB_SIMD_ONCE(scan_run, sum_run);

#if HWY_ONCE
constexpr int64_t kStretch = 1 << 15;          // elements of a thread; 128 KB, which stay in L2
constexpr int64_t kEnough = 2 * kStretch + 1;  // elements worth waking a team for
constexpr int64_t kLine = 16;                  // words, so that no two threads write one cache line

void run(const Scan::Args<float>& x) {
  const int64_t n = x.shape.n;
  const auto scan = HWY_DYNAMIC_DISPATCH(scan_run);
  const auto add_up = HWY_DYNAMIC_DISPATCH(sum_run);
  if (n < kEnough) return scan(x, 0, n, 0);
  std::vector<uint32_t> sums(size_t(2 * omp_get_max_threads() * kLine));
#pragma omp parallel
  {
    const int64_t team = omp_get_num_threads(), me = omp_get_thread_num();
    uint32_t before = 0;
    for (int64_t from = 0, round = 0; from < n; from += team * kStretch, ++round) {
      const int64_t i = std::min(n, from + me * kStretch), end = std::min(n, i + kStretch);
      // Two rows of sums take turns: one barrier lies between writing a row and reading it, the next one before it is written again.
      uint32_t* const row = sums.data() + round % 2 * team * kLine;
      row[me * kLine] = add_up(x, i, end);
#pragma omp barrier
      uint32_t own = before;
      for (int64_t t = 0; t < team; ++t) {
        before += row[t * kLine];
        if (t < me) own += row[t * kLine];
      }
      scan(x, i, end, own);
    }
  }
}

KLAB_VARIANT(Scan, {.run = run,
                    .parent = "02_simd",
                    .tiles = {8, kStretch, kEnough},
                    .expect = {.shape = {1 << 24}, .over_parent = 1.1}});
KLAB_SIMD_CLOSE();
#endif
