// window_sum.cpu.05_by_radius: short windows added up directly, long ones by walks.
//
// CHANGE    windows of up to 33 elements go the way of 03_simd, longer ones that of the parent.
// EXPECT    the faster of its two ancestors at every radius. A direct window costs one load per element, two
//           walks some thirty instructions per vector: they meet near 30 elements.
// NUMERICS  as the one of the two that is taken.
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

void sums(const WindowSum::Args<float>& args) {
  const int64_t n = args.shape.n, r = std::min(args.shape.r, n);  // beyond n, a window holds everything
  if (r <= kShort) return direct(args.x, args.y, n, r, 0, n);
  for (int64_t first = 0; first < n; first += 2 * r + 1) group(args.x, args.y, n, r, first);
}

KLAB_SIMD_END(sums);

#if HWY_ONCE
namespace klab {
namespace {

void run(const WindowSum::Args<float>& x) { HWY_DYNAMIC_DISPATCH(sums)(x); }

KLAB_VARIANT(WindowSum, {.run = run,
                         .parent = "04_scan",
                         .tiles = {16},
                         .expect = {.shape = {65536, 3}, .over_parent = 4},
                         .when = {{65536, 3}, "narrow windows"}});

}  // namespace
}  // namespace klab
#endif
