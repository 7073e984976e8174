// ssim_loss_bwd.cpu.04_threads: rows shared out among the cores.
//
// CHANGE    each thread has stretches of rows; all slopes are there before the first is gathered.
// EXPECT    near the number of cores: a row needs ten neighbors, which L2 has.
// NUMERICS  as the parent, the same bits for any number of threads.
#include <algorithm>
#include <vector>

#include "harness/core/registrar.h"
#include "kernels/common/simd.h"
#include "reference/ssim_loss_bwd/ssim_loss_bwd.h"

#include "kernels/common/lanes-inl.h"
#include "kernels/common/ssim/rows-inl.h"

KLAB_SIMD_BEGIN();

#include "kernels/ssim_loss_bwd/cpu/03_simd-inl.h"

KLAB_SIMD_ONCE(slopes, gather);

#if HWY_ONCE
constexpr int64_t kRows = 16;

void run(const SsimLossBwd::Args<float>& x) {
  const int64_t rows = 3 * x.shape.height;
  std::vector<float> maps(size_t(9 * x.shape.pixels()));
#pragma omp parallel if (x.shape.pixels() > 1024)
  {
#pragma omp for schedule(static)
    for (int64_t begin = 0; begin < rows; begin += kRows)
      HWY_DYNAMIC_DISPATCH(slopes)(x, begin, std::min(begin + kRows, rows), maps.data());
#pragma omp for schedule(static)
    for (int64_t begin = 0; begin < rows; begin += kRows)
      HWY_DYNAMIC_DISPATCH(gather)(x, begin, std::min(begin + kRows, rows), maps.data());
  }
}

KLAB_VARIANT(SsimLossBwd, {.run = run,
                           .parent = "03_simd",
                           .numerics = {.growth = Growth::linear},
                           .tiles = {kRows},
                           .expect = {.shape = {400, 400}, .over_parent = 1.5}});
KLAB_SIMD_CLOSE();
#endif
