// compact.cpu.03_simd: the transposed case transposed in registers.
//
// CHANGE    where the stride of 1 is not innermost but one of the outer dimensions, blocks are transposed by
//           shuffles as in the transpose ladder; copies and fills are written as vectors.
// EXPECT    transposed views several times the parent; copies and fills the same, they already were
//           vectors.
// NUMERICS  copies bits.
#include <algorithm>

#include "harness/core/registrar.h"
#include "kernels/common/simd.h"
#include "reference/compact/compact.h"

#include "kernels/common/transpose_block-inl.h"

KLAB_SIMD_BEGIN();

#include "kernels/compact/cpu/03_simd-inl.h"

KLAB_SIMD_ONCE(slice, section);

#if HWY_ONCE
void run(const Compact::Args<float>& x) {
  const Compact::Shape& s = x.shape;
  if (s.d0 * s.d1 * s.d2 == 0) return;
  if (s.s0 == 1 && s.s1 != 1 && s.s2 > 1) {
    for (int64_t j = 0; j < s.d1; ++j) HWY_DYNAMIC_DISPATCH(section)(x, j, 0, s.d0);
  } else {
    for (int64_t i = 0; i < s.d0; ++i) HWY_DYNAMIC_DISPATCH(slice)(x, i, 0, s.d1);
  }
}

KLAB_VARIANT(Compact, {.run = run,
                       .parent = "02_hoisted",
                       .tiles = {16, 32},
                       .expect = {.shape = {16, 512, 512, 262144, 1, 512, 0}, .over_parent = 2}});
KLAB_SIMD_CLOSE();
#endif
