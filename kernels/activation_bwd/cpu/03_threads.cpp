// activation_bwd.cpu.03_threads: elements shared out among the cores.
//
// CHANGE    each thread takes a run of elements.
// EXPECT    one core does not ask for all that memory can give: up to the number of cores, until memory binds.
// NUMERICS  as the parent, bit for bit.
// NEEDS     nothing. Little work stays on one thread.
// TRIED     -
#include <omp.h>

#include "harness/core/registrar.h"
#include "reference/activation_bwd/activation_bwd.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/activation_bwd/cpu/03_threads.cpp"
#include "hwy/foreach_target.h"  // must come before any other of Highway

#include "hwy/highway.h"
#include "kernels/common/activation-inl.h"
#include "kernels/common/runs-inl.h"

HWY_BEFORE_NAMESPACE();
namespace klab {
namespace {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

#include "kernels/activation_bwd/cpu/02_simd-inl.h"

}  // namespace HWY_NAMESPACE
}  // namespace
}  // namespace klab
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace klab {
namespace {

HWY_EXPORT(apply);

void run(const ActivationBwd::Args<float>& x) {
  constexpr int64_t kEnough = 1 << 14;  // numbers worth waking a team for
  const int64_t all = x.shape.n;
  const auto part = HWY_DYNAMIC_DISPATCH(apply);
  if (all < kEnough) return part(x, 0, all);
#pragma omp parallel
  {
    const int64_t k = omp_get_thread_num(), parts = omp_get_num_threads();
    part(x, all / 16 * k / parts * 16, k + 1 == parts ? all : all / 16 * (k + 1) / parts * 16);
  }
}

KLAB_VARIANT(ActivationBwd, {.run = run,
                             .parent = "02_simd",
                             .forward = "01_naive",
                             .tiles = {16, 64},
                             .expect = {.shape = {1 << 23, activation::gelu}, .over_parent = 1.5}});

}  // namespace
}  // namespace klab
#endif
