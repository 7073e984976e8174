// ssim_loss_fwd.cpu.04_threads: rows shared out among the cores.
//
// CHANGE    each thread has stretches of rows.
// EXPECT    near the number of cores: a row needs ten neighbors, which L2 has.
// NUMERICS  as the parent, the same bits for any number of threads.
#include <algorithm>
#include <vector>

#include "harness/core/registrar.h"
#include "kernels/common/simd.h"
#include "reference/ssim_loss_fwd/ssim_loss_fwd.h"

#include "kernels/common/lanes-inl.h"
#include "kernels/common/ssim/rows-inl.h"

KLAB_SIMD_BEGIN();

#include "kernels/ssim_loss_fwd/cpu/03_simd-inl.h"

KLAB_SIMD_ONCE(compare);

#if HWY_ONCE
constexpr int64_t kRows = 16;

void run(const SsimLossFwd::Args<float>& x) {
  const int64_t rows = 3 * x.shape.height;
  std::vector<double> parts(static_cast<size_t>(rows));
#pragma omp parallel for schedule(static) if (x.shape.pixels() > 1024)
  for (int64_t begin = 0; begin < rows; begin += kRows)
    HWY_DYNAMIC_DISPATCH(compare)(x, begin, std::min(begin + kRows, rows), parts.data());
  double sum = 0;
  for (const double part : parts) sum += part;
  x.loss[0] = float(sum / (3 * double(x.shape.pixels())));
}

KLAB_VARIANT(SsimLossFwd, {.run = run,
                           .parent = "03_simd",
                           .numerics = {.growth = Growth::linear},
                           .tiles = {kRows},
                           .expect = {.shape = {400, 400}, .over_parent = 1.5}});
KLAB_SIMD_CLOSE();
#endif
