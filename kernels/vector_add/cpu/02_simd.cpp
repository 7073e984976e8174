// vector_add.cpu.02_simd: as many additions at a time as a vector register has lanes.
//
// CHANGE    vectors of the widest instruction set this machine has, chosen when the program runs.
// EXPECT    in L1 close to the number of lanes times faster, less where the port for stores is narrower
//           than a vector; little where memory is the limit.
// NUMERICS  as the parent: the same additions, so the same bits.
// NEEDS     nothing; on a machine without vectors Highway runs it on scalars.
#include "harness/core/registrar.h"
#include "kernels/common/simd.h"
#include "reference/vector_add/vector_add.h"

KLAB_SIMD_BEGIN();

void add(const VectorAdd::Args<float>& x) {
  const hn::ScalableTag<float> d;
  const int64_t lanes = int64_t(hn::Lanes(d));
  const int64_t n = x.shape.n;
  int64_t i = 0;
  for (; i + lanes <= n; i += lanes)
    hn::StoreU(hn::Add(hn::LoadU(d, x.a + i), hn::LoadU(d, x.b + i)), d, x.c + i);
  for (; i < n; ++i) x.c[i] = x.a[i] + x.b[i];
}

KLAB_SIMD_ONCE(add);

#if HWY_ONCE
void run(const VectorAdd::Args<float>& x) { HWY_DYNAMIC_DISPATCH(add)(x); }

KLAB_VARIANT(VectorAdd, {.run = run,
                         .parent = "01_scalar",
                         .tiles = {16},
                         .expect = {.shape = {2048}, .over_parent = 2}});
KLAB_SIMD_CLOSE();
#endif
