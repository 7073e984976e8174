// layernorm_fwd.cpu.03_simd: whole vectors, four chains of them.
//
// CHANGE    the three loops in vectors of the processor's own width, chosen when the program starts; the sums in four
//           vectors each, joined once per row; deviation and square in one fused multiply-add.
// EXPECT    the compiler's vectors are the four lanes that any processor has; these are 8 or 16. In memory up to 1.5 times,
//           where one core's share of the bandwidth begins to bind; in L2 at least twice.
// NUMERICS  64 partial sums with 16 lanes; two passes as before.
#include <cmath>

#include "harness/core/registrar.h"
#include "kernels/common/simd.h"
#include "reference/layernorm_fwd/layernorm_fwd.h"

#include "kernels/common/lanes-inl.h"

KLAB_SIMD_BEGIN();

#include "kernels/layernorm_fwd/cpu/03_simd-inl.h"

#include "kernels/layernorm_fwd/cpu/03_simd_row-inl.h"

void normalize(const LayernormFwd::Args<float>& x) {
  const int64_t n = x.shape.n, c = x.shape.c;
  for (int64_t i = 0; i < n; ++i) {
    const float* row = x.x + i * c;
    const float mean = sum_of(row, c) / float(c);
    const float rstd = 1 / std::sqrt(squares_about(row, c, mean) / float(c) + *x.epsilon);
    normalize_row(x, row, x.y + i * c, mean, rstd);
    x.mean[i] = mean;
    x.rstd[i] = rstd;
  }
}

KLAB_SIMD_ONCE(normalize);

#if HWY_ONCE
void run(const LayernormFwd::Args<float>& x) { HWY_DYNAMIC_DISPATCH(normalize)(x); }

KLAB_VARIANT(LayernormFwd, {.run = run,
                            .parent = "02_accumulators",
                            .tiles = {16, 64},
                            .expect = {.shape = {8192, 1024}, .over_parent = 1.2}});
KLAB_SIMD_CLOSE();
#endif
