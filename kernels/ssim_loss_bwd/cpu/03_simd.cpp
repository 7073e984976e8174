// ssim_loss_bwd.cpu.03_simd: as many columns at once as a vector has lanes.
//
// CHANGE    both passes on vectors: along columns neighbors are neighbors anyway; along rows a window is eleven loads, of
//           which two share a tap.
// EXPECT    near the number of lanes against a scalar loop; compilers had vectorized a part of it.
// NUMERICS  windows in two sums, of pairs along rows.
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
void run(const SsimLossBwd::Args<float>& x) {
  const int64_t rows = 3 * x.shape.height;
  std::vector<float> maps(size_t(9 * x.shape.pixels()));
  HWY_DYNAMIC_DISPATCH(slopes)(x, 0, rows, maps.data());
  HWY_DYNAMIC_DISPATCH(gather)(x, 0, rows, maps.data());
}

KLAB_VARIANT(SsimLossBwd, {.run = run,
                           .parent = "02_separable",
                           .numerics = {.growth = Growth::linear},
                           .tiles = {11, 16},
                           .expect = {.shape = {400, 400}, .over_parent = 2}});
KLAB_SIMD_CLOSE();
#endif
