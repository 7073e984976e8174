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

void one_by_one(const float* x, float* y, int64_t n, int64_t r, int64_t i, int64_t end) {
  for (; i < end; ++i) {
    float sum = 0;
    for (int64_t j = std::max<int64_t>(i - r, 0); j < std::min(i + r + 1, n); ++j) sum += x[j];
    y[i] = sum;
  }
}

// Outputs [i, end), every window from its beginning.
void direct(const float* HWY_RESTRICT x, float* HWY_RESTRICT y, int64_t n, int64_t r, int64_t i,
            int64_t end) {
  const hn::CappedTag<float, 16> d;
  const int64_t lanes = int64_t(hn::Lanes(d)), whole = std::min(end, std::max(i, r));
  one_by_one(x, y, n, r, i, whole);
  for (i = whole; i + 4 * lanes <= std::min(end, n - r); i += 4 * lanes) {
    auto a = hn::Zero(d), b = a, c = a, e = a;
    for (const float *p = x + i - r, *past = x + i + r; p <= past; ++p) {
      a = hn::Add(a, hn::LoadU(d, p));
      b = hn::Add(b, hn::LoadU(d, p + lanes));
      c = hn::Add(c, hn::LoadU(d, p + 2 * lanes));
      e = hn::Add(e, hn::LoadU(d, p + 3 * lanes));
    }
    hn::StoreU(a, d, y + i);
    hn::StoreU(b, d, y + i + lanes);
    hn::StoreU(c, d, y + i + 2 * lanes);
    hn::StoreU(e, d, y + i + 3 * lanes);
  }
  one_by_one(x, y, n, r, i, end);
}

constexpr int64_t kShort = 16;  // largest radius added up directly

// Part k of `parts` of all outputs.
void sums(const WindowSum::Args<float>& args, int64_t k, int64_t parts) {
  const int64_t n = args.shape.n, r = std::min(args.shape.r, n);  // beyond n, a window holds everything
  const int64_t window = 2 * r + 1, unit = r <= kShort ? 16 : window, units = (n + unit - 1) / unit;
  const int64_t begin = units * k / parts * unit, end = std::min(n, units * (k + 1) / parts * unit);
  if (r <= kShort) return direct(args.x, args.y, n, r, begin, end);
  for (int64_t first = begin; first < end; first += window) group(args.x, args.y, n, r, first);
}

KLAB_SIMD_END(sums);

#if HWY_ONCE
namespace klab {
namespace {

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

}  // namespace
}  // namespace klab
#endif
