// pool_fwd.cpu.03_simd: lanes for rows, and a deinterleaving load for the stride.
//
// CHANGE    both passes in the widest vectors there are. Every second pixel of a row, as a stride of 2 needs,
//           comes by a load that sorts even from odd; the row has a border of neutral values, so that no
//           window tests its position.
// EXPECT    a row is read once, reduced in L1 and written once, which the compiler could not make of the
//           strided pass. At least 1.5 times.
// NUMERICS  as the parent.
// NEEDS     as the parent. Strides beyond 2 take their columns one by one.
// TRIED     see NOTES.md, cpu.03_simd
#include <algorithm>
#include <limits>

#include "harness/core/registrar.h"
#include "kernels/common/scratch.h"
#include "kernels/common/simd.h"
#include "reference/pool_fwd/pool_fwd.h"

#include "kernels/common/pool/rows-inl.h"

KLAB_SIMD_BEGIN();

namespace rows = klab::pools::HWY_NAMESPACE;
using rows::kBeyond;
using rows::lanes;
using rows::reduced;
using rows::Tag;

#include "kernels/pool_fwd/cpu/03_simd-inl.h"

void pool(const PoolFwd::Args<float>& x) {
  const PoolShape& s = x.shape;
  if (s.n * s.c == 0) return;
  const int64_t size = s.nhwc != 0 ? s.c : 1, total = s.n * s.c / size * s.oh();
  if (s.is_max())
    output_rows<true>(x, size, 0, total);
  else
    output_rows<false>(x, size, 0, total);
}

KLAB_SIMD_ONCE(pool);

#if HWY_ONCE
void run(const PoolFwd::Args<float>& x) { HWY_DYNAMIC_DISPATCH(pool)(x); }

KLAB_VARIANT(PoolFwd, {.run = run,
                       .parent = "02_separable",
                       .tiles = {8, 16, 32},
                       .expect = {.shape = {1, 64, 112, 112, 2, 2, 2, 2, 0, 0, 0, 0}, .over_parent = 1.5}});
KLAB_SIMD_CLOSE();
#endif
