// window_sum.cpu.04_scan: the two running sums, a vector of outputs a step.
//
// CHANGE    16 steps of a walk are one prefix sum over the lanes, log2(16) shifts and additions, plus the
//           walk's sum before. Only that last addition waits for the vector before.
// EXPECT    each walk some ten instructions per vector in place of 16 dependent additions: several times the
//           parent where windows are longer than a vector. Short windows make short groups, and a group of
//           seven fills less than half a vector: slower than the parent at small radii.
// NUMERICS  sums of the window's terms in another order; the same bound.
#include <algorithm>

#include "harness/core/registrar.h"
#include "kernels/common/simd.h"
#include "reference/window_sum/window_sum.h"

#include "kernels/common/lanes-inl.h"

KLAB_SIMD_BEGIN();

#include "kernels/window_sum/cpu/04_scan-inl.h"

void sums(const WindowSum::Args<float>& args) {
  const int64_t n = args.shape.n, r = std::min(args.shape.r, n);  // beyond n, a window holds everything
  for (int64_t first = 0; first < n; first += 2 * r + 1) group(args.x, args.y, n, r, first);
}

KLAB_SIMD_ONCE(sums);

#if HWY_ONCE
void run(const WindowSum::Args<float>& x) { HWY_DYNAMIC_DISPATCH(sums)(x); }

KLAB_VARIANT(WindowSum, {.run = run,
                         .parent = "02_running_sum",
                         .tiles = {16},
                         .expect = {.shape = {65536, 100}, .over_parent = 2}});
KLAB_SIMD_CLOSE();
#endif
