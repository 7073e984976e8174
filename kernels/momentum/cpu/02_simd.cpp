// momentum.cpu.02_simd: all lines of the formula at once, for as many entries as there are lanes.
//
// CHANGE    vectors, and one pass: the data of an entry's step is loaded once and stored once. Values that
//           depend on the tensor alone (bias corrections, products of hyperparameters) are coefficients,
//           computed once a tensor.
// EXPECT    in a cache several times the parent, which goes entry by entry and 3 times; beyond, the savings
//           of fewer passes.
// NUMERICS  float; fused multiply-adds; coefficients rounded once from double.
#include "harness/core/registrar.h"
#include "kernels/common/simd.h"
#include "reference/momentum/momentum.h"

#include "kernels/common/optimizer/lanes-inl.h"

KLAB_SIMD_BEGIN();

using Args = Momentum::Args<float>;
constexpr Optimizer kRule = Optimizer::momentum;

#include "kernels/common/optimizer/02_simd-inl.h"

KLAB_SIMD_ONCE(update);

#if HWY_ONCE
void run(const Momentum::Args<float>& x) {
  HWY_DYNAMIC_DISPATCH(update)(x, 0, x.shape.n);
  raise_step_counts(optimizer_step(x));
}

KLAB_VARIANT(Momentum, {.run = run,
                        .parent = "01_naive",
                        .tiles = {16},
                        .expect = {.shape = {1 << 15, 8, 1}, .over_parent = 3}});
KLAB_SIMD_CLOSE();
#endif
