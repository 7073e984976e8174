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

#include "kernels/window_sum/cpu/05_by_radius-inl.h"

void sums(const WindowSum::Args<float>& args) {
  const int64_t n = args.shape.n, r = std::min(args.shape.r, n);  // beyond n, a window holds everything
  if (r <= kShort) return direct(args.x, args.y, n, r, 0, n);
  for (int64_t first = 0; first < n; first += 2 * r + 1) group(args.x, args.y, n, r, first);
}

KLAB_SIMD_ONCE(sums);

#if HWY_ONCE
void run(const WindowSum::Args<float>& x) { HWY_DYNAMIC_DISPATCH(sums)(x); }

KLAB_VARIANT(WindowSum, {.run = run,
                         .parent = "04_scan",
                         .tiles = {16},
                         .expect = {.shape = {65536, 3}, .over_parent = 4},
                         .when = {{65536, 3}, "narrow windows"}});
KLAB_SIMD_CLOSE();
#endif
