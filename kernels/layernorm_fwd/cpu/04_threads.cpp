// layernorm_fwd.cpu.04_threads: rows shared out among the cores.
//
// CHANGE    each thread takes a run of rows.
// EXPECT    one core does not ask for all that memory can give: up to the number of cores, until memory binds.
// NUMERICS  as the parent, bit for bit.
// NEEDS     nothing. Few features in all stay on one thread; so does a single row, however long.
// TRIED     -
#include <omp.h>

#include <cmath>

#include "harness/core/registrar.h"
#include "reference/layernorm_fwd/layernorm_fwd.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/layernorm_fwd/cpu/04_threads.cpp"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "kernels/common/lanes-inl.h"

HWY_BEFORE_NAMESPACE();
namespace klab {
namespace {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

#include "kernels/layernorm_fwd/cpu/03_simd-inl.h"

/// Rows [i, end).
void normalize(const LayernormFwd::Args<float>& x, int64_t i, int64_t end) {
  const int64_t c = x.shape.c;
  for (; i < end; ++i) {
    const float* row = x.x + i * c;
    const float mean = sum_of(row, c) / float(c);
    const float rstd = 1 / std::sqrt(squares_about(row, c, mean) / float(c) + *x.epsilon);
    normalize_row(x, row, x.y + i * c, mean, rstd);
    x.mean[i] = mean;
    x.rstd[i] = rstd;
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace
}  // namespace klab
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace klab {
namespace {

HWY_EXPORT(normalize);

void run(const LayernormFwd::Args<float>& x) {
  constexpr int64_t kEnough = 1 << 14;  // features worth waking a team for
  const int64_t n = x.shape.n;
  const auto part = HWY_DYNAMIC_DISPATCH(normalize);
  if (n * x.shape.c < kEnough) return part(x, 0, n);
#pragma omp parallel
  {
    const int64_t k = omp_get_thread_num(), parts = omp_get_num_threads();
    part(x, n * k / parts, n * (k + 1) / parts);
  }
}

KLAB_VARIANT(LayernormFwd, {.run = run,
                            .parent = "03_simd",
                            .tiles = {16, 64},
                            .expect = {.shape = {8192, 1024}, .over_parent = 1.5}});

}  // namespace
}  // namespace klab
#endif
