#include "reference/composite_loss_fwd/composite_loss_fwd.h"

#include <algorithm>
#include <cmath>

#include "reference/generator.h"

namespace klab {

void CompositeLossFwd::arrange(const Args<float>& x, Generator& random) {
  std::vector<float> t(size_t(x.shape.samples));  // distances, which the loss does not use
  CompositeFwd::Args<float> forward{};
  forward.shape = {x.shape.rays, x.shape.samples};
  forward.ray_begin = x.ray_begin;
  forward.density_raw = x.density_raw;
  forward.rgb = x.rgb;
  forward.background = x.background;
  forward.delta = x.delta;
  forward.t = t.data();
  CompositeFwd::arrange(forward, random);
}

CompositeLossFwd::Colors CompositeLossFwd::colors(const Args<double>& x) {
  const CompositeFwd::Shape shape{x.shape.rays, x.shape.samples};
  const auto rays = size_t(shape.rays);
  const std::vector<double> t(size_t(shape.samples));
  std::vector<double> rest(4 * rays);  // opacity and depth, and their magnitudes
  Colors c{std::vector<double>(3 * rays), std::vector<double>(3 * rays)};
  CompositeFwd::Args<double> magnitude{};
  magnitude.color = c.error.data();
  magnitude.opacity = rest.data() + 2 * rays;
  magnitude.depth = rest.data() + 3 * rays;
  CompositeFwd::reference({shape, x.ray_begin, x.density_raw, x.rgb, x.delta, t.data(), x.background,
                           c.value.data(), rest.data(), rest.data() + rays},
                          magnitude);
  for (double& e : c.error) e *= CompositeFwd::terms(shape) * 0x1p-24;
  return c;
}

// A color that is off by d changes l by at most |l'|·d + d^2, as the curvature is at most 2. The loss of the
// variant's color is accurate to 8u of pixel_loss_fwd's magnitude.
void CompositeLossFwd::reference(const Args<double>& x, const Args<double>& magnitude) {
  const auto [rays, samples, kind] = x.shape;
  const Colors c = colors(x);
  const PixelLossFwd::Shape pixels{rays, kind};
  PixelLossFwd::Args<double> size{};
  size.loss = magnitude.loss;
  PixelLossFwd::reference({pixels, c.value.data(), x.target, x.loss}, size);
  const double unit = terms(x.shape) * 0x1p-24, turn_at = turn(kind);
  for (int64_t r = 0; r < rays; ++r) {
    magnitude.loss[r] *= PixelLossFwd::terms(pixels) / terms(x.shape);
    for (int64_t k = r; k < 3 * rays; k += rays) {
      const double e = std::abs(c.value[size_t(k)] - x.target[k]), d = c.error[size_t(k)];
      const double slope = kind == 0 ? 2 * e : std::min(e, turn_at);
      magnitude.loss[r] += (slope + d) * d / (3 * unit);
    }
  }
}

}  // namespace klab
