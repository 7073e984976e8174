// rmsnorm_bwd.cpu.04_threads: rows shared out, column sums joined.
//
// CHANGE    each thread takes a run of rows, with its own sums down the columns; at the end every thread
//           joins a part of the columns.
// EXPECT    up to the number of cores, until memory binds. The joining is one row for each thread.
// NUMERICS  column sums of each thread, added in order: with another number of threads the last bits differ.
// NEEDS     nothing. Little work stays on one thread.
#include <omp.h>

#include <algorithm>

#include "harness/core/registrar.h"
#include "kernels/common/scratch.h"
#include "kernels/common/simd.h"
#include "reference/rmsnorm_bwd/rmsnorm_bwd.h"

#include "kernels/common/runs-inl.h"

KLAB_SIMD_BEGIN();

#include "kernels/rmsnorm_bwd/cpu/03_simd-inl.h"

KLAB_SIMD_ONCE(rows);

#if HWY_ONCE
void run(const RmsnormBwd::Args<float>& x) {
  constexpr int64_t kEnough = 1 << 14;  // features worth waking a team for
  static thread_local Scratch memory;
  const int64_t n = x.shape.n, c = x.shape.c, room = (c + 15) / 16 * 16;
  const int team = n * c < kEnough ? 1 : int(std::min<int64_t>(omp_get_max_threads(), n));
  float* sums = memory.floats(1 * room * team);
  const auto part = HWY_DYNAMIC_DISPATCH(rows);
#pragma omp parallel num_threads(team)
  {
    const int64_t k = omp_get_thread_num(), parts = omp_get_num_threads();
    float* own = sums + 1 * room * k;
    std::fill_n(own, 1 * room, 0.0F);
    part(x, n * k / parts, n * (k + 1) / parts, own);
#pragma omp barrier
#pragma omp for
    for (int64_t j = 0; j < c; ++j) {
      float d_gamma = 0;
      for (int64_t p = 0; p < parts; ++p) {
        d_gamma += sums[1 * room * p + j];
      }
      x.d_gamma[j] = d_gamma;
    }
  }
}

KLAB_VARIANT(RmsnormBwd, {.run = run,
                          .parent = "03_simd",
                          .forward = "01_naive",
                          .tiles = {16, 64},
                          .expect = {.shape = {8192, 1024}, .over_parent = 1.3}});
KLAB_SIMD_CLOSE();
#endif
