// activation_bwd.cpu.03_threads: elements shared out among the cores.
//
// CHANGE    each thread takes a run of elements.
// EXPECT    one core does not ask for all that memory can give: up to the number of cores, until memory binds.
// NUMERICS  as the parent, bit for bit.
// NEEDS     nothing. Little work stays on one thread.
#include "harness/core/registrar.h"
#include "kernels/common/simd.h"
#include "kernels/common/threads.h"
#include "reference/activation_bwd/activation_bwd.h"

#include "kernels/common/activation/functions-inl.h"
#include "kernels/common/runs-inl.h"

KLAB_SIMD_BEGIN();

#include "kernels/activation_bwd/cpu/02_simd_slope-inl.h"

#include "kernels/activation_bwd/cpu/02_simd-inl.h"

KLAB_SIMD_ONCE(apply);

#if HWY_ONCE
void run(const ActivationBwd::Args<float>& x) {
  constexpr int64_t kEnough = 1 << 14;  // numbers worth waking a team for
  const int64_t all = x.shape.n;
  const auto part = HWY_DYNAMIC_DISPATCH(apply);
  parallel_ranges(all, all >= kEnough, 16, [&](int64_t i, int64_t end) { part(x, i, end); });
}

KLAB_VARIANT(ActivationBwd, {.run = run,
                             .parent = "02_simd",
                             .forward = "01_naive",
                             .tiles = {16, 64},
                             .expect = {.shape = {1 << 23, activation::gelu}, .over_parent = 1.5}});
KLAB_SIMD_CLOSE();
#endif
