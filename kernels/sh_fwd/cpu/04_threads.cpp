// sh_fwd.cpu.04_threads: directions shared out among the cores.
//
// CHANGE    each thread takes a run of directions.
// EXPECT    the bandwidth of the memory, most of it writes.
// NUMERICS  as the parent, bit for bit.
// NEEDS     nothing.
// TRIED     -
#include <omp.h>

#include <algorithm>

#include "harness/core/registrar.h"
#include "reference/sh_fwd/sh_fwd.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/sh_fwd/cpu/04_threads.cpp"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "kernels/common/lanes-inl.h"

HWY_BEFORE_NAMESPACE();
namespace klab {
namespace {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

#include "kernels/sh_fwd/cpu/03_simd-inl.h"

}  // namespace HWY_NAMESPACE
}  // namespace
}  // namespace klab
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace klab {
namespace {

HWY_EXPORT(encode);
void run(const ShFwd::Args<float>& x) {
  const auto part = HWY_DYNAMIC_DISPATCH(encode);
  const int64_t n = x.shape.n;
  constexpr int64_t kWorthThreads = 1 << 14;  // below, waking a thread takes longer than the work
#pragma omp parallel if (n >= kWorthThreads)
  {
    const int64_t k = omp_get_thread_num(), parts = omp_get_num_threads();
    // Cut at multiples of a cache line of floats.
    part(x, n / 16 * k / parts * 16, k + 1 == parts ? n : n / 16 * (k + 1) / parts * 16);
  }
}

KLAB_VARIANT(ShFwd, {.run = run,
                     .parent = "03_simd",
                     .tiles = {16},
                     .expect = {.shape = {1 << 18, 4}, .over_parent = 1.3}});

}  // namespace
}  // namespace klab
#endif
