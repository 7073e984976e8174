#include "reference/ssim_loss_bwd/ssim_loss_bwd.h"

#include <vector>

#include "reference/ssim_loss_fwd/similarity.h"

namespace klab {

void SsimLossBwd::arrange(const Args<float>& x, Generator& random) {
  SsimLossFwd::Args<float> forward{};
  forward.shape = x.shape;
  forward.weight = x.weight;
  forward.image = x.image;
  forward.target = x.target;
  SsimLossFwd::arrange(forward, random);
}

void SsimLossBwd::reference(const Args<double>& x, const Args<double>& magnitude) {
  using Real = RunningError;
  const Shape& s = x.shape;
  const Real weight = x.weight[0], share = Real(x.d_loss[0], 0x1p-120) / Real(3 * double(s.pixels()));
  constexpr int64_t r = SsimLossFwd::radius;
  std::vector<Similarity> map(size_t(s.pixels()));
  for (int64_t c = 0; c < 3; ++c) {
    const double *image = x.image + c * s.pixels(), *target = x.target + c * s.pixels();
    for (int64_t row = 0; row < s.height; ++row)
      for (int64_t column = 0; column < s.width; ++column)
        map[size_t(row * s.width + column)] = similarity(s, image, target, row, column);
    for (int64_t row = 0; row < s.height; ++row)
      for (int64_t column = 0; column < s.width; ++column) {
        Real mean, square, product;
        for (int64_t i = std::max(-r, -row); i <= std::min(r, s.height - 1 - row); ++i)
          for (int64_t j = std::max(-r, -column); j <= std::min(r, s.width - 1 - column); ++j) {
            const Similarity& at = map[size_t((row + i) * s.width + column + j)];
            const Real w = tap(i, j);
            mean += w * at.d_mean, square += w * at.d_square, product += w * at.d_product;
          }
        const int64_t at = row * s.width + column;
        const double off = image[at] - target[at];
        const Real sign = off > 0 ? 1 : off < 0 ? -1 : 0;
        const Real slope = mean + Real(2) * Real(image[at]) * square + Real(target[at]) * product;
        const Real d = share * ((Real(1) - weight) * sign - weight * slope);
        x.d_image[c * s.pixels() + at] = d.value;
        magnitude.d_image[c * s.pixels() + at] = d.error;
      }
  }
}

}  // namespace klab
