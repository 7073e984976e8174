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

using Args = SsimLossFwd::Args<float>;

/// Rows [begin,end) of the three channels one below the other: their shares of the loss, not divided, to parts[row].
void compare(const Args& x, int64_t begin, int64_t end, double* parts) {
  const SsimTag d;
  const SsimLossFwd::Shape& s = x.shape;
  const int64_t lanes = int64_t(hn::Lanes(d));
  std::vector<PaddedRow> sums(5, PaddedRow(s.width));
  const float alike = x.weight[0], apart = 1 - x.weight[0];
  for (int64_t r = begin; r < end; ++r) {
    const int64_t plane = r / s.height * s.pixels(), row = r % s.height;
    ssim_down(s, x.image + plane, x.target + plane, row, sums.data());
    double part = 0;
    for (int64_t j = 0; j < s.width; j += lanes) {
      const size_t count = size_t(std::min(lanes, s.width - j));
      const SsimParts p = ssim_parts(sums.data(), j);
      const auto value = hn::Div(hn::Mul(p.light, p.structure), hn::Mul(p.light_size, p.structure_size));
      const int64_t at = plane + row * s.width + j;
      const auto off =
          hn::Abs(hn::Sub(load_first(d, x.image + at, count), load_first(d, x.target + at, count)));
      const auto loss =
          hn::MulAdd(hn::Set(d, apart), off, hn::Mul(hn::Set(d, alike), hn::Sub(hn::Set(d, 1.0F), value)));
      part += double(hn::GetLane(hn::SumOfLanes(d, hn::IfThenElseZero(hn::FirstN(d, count), loss))));
    }
    parts[r] = part;
  }
}

KLAB_SIMD_END(compare);

#if HWY_ONCE
namespace klab {
namespace {

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

}  // namespace
}  // namespace klab
#endif
