// bias_add_bwd.cpu.02_simd: all channels at once, along the rows.
//
// CHANGE    behind a matrix product all columns are added up at once, four rows at a time; runs of positions in vectors.
// EXPECT    every line is read for all of its 16 numbers, and no chain waits: five times at least.
// NUMERICS  down a column one sum, to which four rows at a time are added; 64 partial sums with 16 lanes along a run.
#include <algorithm>

#include "harness/core/registrar.h"
#include "kernels/common/scratch.h"
#include "kernels/common/simd.h"
#include "reference/bias_add_bwd/bias_add_bwd.h"

#include "kernels/common/columns-inl.h"
#include "kernels/common/runs-inl.h"

KLAB_SIMD_BEGIN();

#include "kernels/bias_add_bwd/cpu/02_simd-inl.h"

KLAB_SIMD_ONCE(sum_up);

#if HWY_ONCE
void run(const BiasAddBwd::Args<float>& x) { HWY_DYNAMIC_DISPATCH(sum_up)(x, 0, x.shape.c); }

KLAB_VARIANT(BiasAddBwd, {.run = run,
                          .parent = "01_naive",
                          .forward = "01_naive",
                          .tiles = {16, 64},
                          .expect = {.shape = {8192, 1024, 1}, .over_parent = 5}});
KLAB_SIMD_CLOSE();
#endif
