// window_sum.cpu.03_simd: the direct sum for a vector of outputs at a time.
//
// CHANGE    neighboring outputs in neighboring lanes: element k of 16 windows is one unaligned vector. Four
//           such vectors at a time, so that four additions are in flight.
// EXPECT    against the direct scalar sum, lanes times as many additions an instruction and four chains in
//           place of one: tens of times. The work still grows with r: a vector load for each element of the
//           window, so the two walks of 02 win again from a radius of some ten or twenty.
// NUMERICS  the same additions as 01_direct in the same order, so the same bits.
// NEEDS     nothing; radii beyond n/2 leave no whole window, and all is done one by one.
#include <algorithm>

#include "harness/core/registrar.h"
#include "kernels/common/simd.h"
#include "reference/window_sum/window_sum.h"

KLAB_SIMD_BEGIN();

void one_by_one(const float* x, float* y, int64_t n, int64_t r, int64_t i, int64_t end) {
  for (; i < end; ++i) {
    float sum = 0;
    for (int64_t j = std::max<int64_t>(i - r, 0); j < std::min(i + r + 1, n); ++j) sum += x[j];
    y[i] = sum;
  }
}

void sums(const WindowSum::Args<float>& args) {
  const hn::ScalableTag<float> d;
  const int64_t lanes = int64_t(hn::Lanes(d)), n = args.shape.n, r = std::min(args.shape.r, n);
  const float* HWY_RESTRICT x = args.x;
  float* HWY_RESTRICT y = args.y;
  int64_t i = std::min(r, n);
  one_by_one(x, y, n, r, 0, i);
  for (; i + 4 * lanes <= n - r; i += 4 * lanes) {
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
  one_by_one(x, y, n, r, i, n);
}

KLAB_SIMD_ONCE(sums);

#if HWY_ONCE
void run(const WindowSum::Args<float>& x) { HWY_DYNAMIC_DISPATCH(sums)(x); }

KLAB_VARIANT(WindowSum, {.run = run,
                         .parent = "01_direct",
                         .tiles = {16, 64},
                         .expect = {.shape = {65536, 3}, .over_parent = 8},
                         .when = {{65536, 3}, "narrow windows"}});
KLAB_SIMD_CLOSE();
#endif
