#include "reference/ssim_loss_fwd/ssim_loss_fwd.h"

#include <cmath>

#include "reference/generator.h"
#include "reference/ssim_loss_fwd/similarity.h"

namespace klab {

void SsimLossFwd::arrange(const Args<float>& x, Generator& random) {
  if (random.widely) return;
  auto* image = const_cast<float*>(x.image);
  for (int64_t i = 0; i < 3 * x.shape.pixels(); ++i)
    if (std::abs(image[i] - x.target[i]) < 0.01F)
      image[i] = x.target[i] + (x.target[i] < 0.5F ? 0.02F : -0.02F) * (1 + float(random() % 1024) / 1024);
}

void SsimLossFwd::reference(const Args<double>& x, const Args<double>& magnitude) {
  using Real = RunningError;
  const Shape& s = x.shape;
  double distance = 0, alike = 0, error = 0;
  const double weight = x.weight[0], values = 3 * double(s.pixels());
  for (int64_t c = 0; c < 3; ++c) {
    const double *image = x.image + c * s.pixels(), *target = x.target + c * s.pixels();
    for (int64_t row = 0; row < s.height; ++row)
      for (int64_t column = 0; column < s.width; ++column) {
        const int64_t at = row * s.width + column;
        const double off = std::abs(image[at] - target[at]);
        const Real similar = similarity(s, image, target, row, column).value;
        distance += off;
        alike += similar.value;
        error += (1 - weight) * 66 * off + weight * (similar.error + 66 * std::abs(similar.value));
      }
  }
  x.loss[0] = (1 - weight) * distance / values + weight * (1 - alike / values);
  magnitude.loss[0] = error / values + 8;
}

}  // namespace klab
