// ssim_loss_fwd.cpu.03_simd: as many columns at once as a vector has lanes.
//
// CHANGE    both passes on vectors: along columns neighbors are neighbors anyway; along rows a window is eleven loads, of
//           which two share a tap.
// EXPECT    near the number of lanes against a scalar loop; compilers had vectorized a part of it.
// NUMERICS  windows in two sums, of pairs along rows.
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
void run(const SsimLossFwd::Args<float>& x) {
  const int64_t rows = 3 * x.shape.height;
  std::vector<double> parts(static_cast<size_t>(rows));
  HWY_DYNAMIC_DISPATCH(compare)(x, 0, rows, parts.data());
  double sum = 0;
  for (const double part : parts) sum += part;
  x.loss[0] = float(sum / (3 * double(x.shape.pixels())));
}

KLAB_VARIANT(SsimLossFwd, {.run = run,
                           .parent = "02_separable",
                           .numerics = {.growth = Growth::linear},
                           .tiles = {11, 16},
                           .expect = {.shape = {400, 400}, .over_parent = 2}});
KLAB_SIMD_CLOSE();
#endif
