// matvec_int4.cpu.03_threads: rows shared out among the cores.
//
// CHANGE    each thread takes a run of rows where there are enough weights for it.
// EXPECT    as many times the parent as there are cores, until memory binds.
// NUMERICS  the parent's, bit for bit.
// NEEDS     nothing.
// TRIED     -
#include <omp.h>

#include "harness/core/registrar.h"
#include "reference/float16.h"
#include "reference/matvec_int4/matvec_int4.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/matvec_int4/cpu/03_threads.cpp"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace klab {
namespace {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

#include "kernels/matvec_int4/cpu/02_simd-inl.h"

}  // namespace HWY_NAMESPACE
}  // namespace
}  // namespace klab
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace klab {
namespace {

HWY_EXPORT(multiply);

void run(const MatvecInt4::Args<float>& x) {
  constexpr int64_t kEnough = 1 << 16;  // weights worth waking a team for
  const int64_t n = x.shape.n;
  const auto part = HWY_DYNAMIC_DISPATCH(multiply);
  if (n * x.shape.k() < kEnough) return part(x, 0, n);
#pragma omp parallel
  {
    const int64_t t = omp_get_thread_num(), parts = omp_get_num_threads();
    part(x, n * t / parts, n * (t + 1) / parts);
  }
}

KLAB_VARIANT(MatvecInt4, {.run = run,
                          .parent = "02_simd",
                          .tiles = {1},
                          .expect = {.shape = {4096, 128}, .over_parent = 1.5}});

}  // namespace
}  // namespace klab
#endif
