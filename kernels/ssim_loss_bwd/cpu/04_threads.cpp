// ssim_loss_bwd.cpu.04_threads: rows shared out among the cores.
//
// CHANGE    each thread has stretches of rows; all slopes are there before the first is gathered.
// EXPECT    near the number of cores: a row needs ten neighbors, which L2 has.
// NUMERICS  as the parent, the same bits for any number of threads.
// NEEDS     nothing.
// TRIED     -
#include <algorithm>
#include <vector>

#include "harness/core/registrar.h"
#include "reference/ssim_loss_bwd/ssim_loss_bwd.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/ssim_loss_bwd/cpu/04_threads.cpp"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "kernels/common/lanes-inl.h"
#include "kernels/common/ssim_rows-inl.h"

HWY_BEFORE_NAMESPACE();
namespace klab {
namespace {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

#include "kernels/ssim_loss_bwd/cpu/03_simd-inl.h"

}  // namespace HWY_NAMESPACE
}  // namespace
}  // namespace klab
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace klab {
namespace {

HWY_EXPORT(slopes);
HWY_EXPORT(gather);
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

}  // namespace
}  // namespace klab
#endif
