// layernorm_fwd.cpu.04_threads: rows shared out among the cores.
//
// CHANGE    each thread takes a run of rows.
// EXPECT    one core does not ask for all that memory can give: up to the number of cores, until memory binds.
// NUMERICS  as the parent, bit for bit.
// NEEDS     nothing. Few features in all stay on one thread; so does a single row, however long.
#include <cmath>

#include "harness/core/registrar.h"
#include "kernels/common/simd.h"
#include "kernels/common/threads.h"
#include "reference/layernorm_fwd/layernorm_fwd.h"

#include "kernels/common/lanes-inl.h"

KLAB_SIMD_BEGIN();

#include "kernels/layernorm_fwd/cpu/03_simd-inl.h"

#include "kernels/layernorm_fwd/cpu/03_simd_row-inl.h"

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

KLAB_SIMD_ONCE(normalize);

#if HWY_ONCE
void run(const LayernormFwd::Args<float>& x) {
  constexpr int64_t kEnough = 1 << 14;  // features worth waking a team for
  const int64_t n = x.shape.n;
  const auto part = HWY_DYNAMIC_DISPATCH(normalize);
  parallel_ranges(n, n * x.shape.c >= kEnough, 1, [&](int64_t i, int64_t end) { part(x, i, end); });
}

KLAB_VARIANT(LayernormFwd, {.run = run,
                            .parent = "03_simd",
                            .tiles = {16, 64},
                            .expect = {.shape = {8192, 1024}, .over_parent = 1.5}});
KLAB_SIMD_CLOSE();
#endif
