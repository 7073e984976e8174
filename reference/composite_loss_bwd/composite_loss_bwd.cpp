#include "reference/composite_loss_bwd/composite_loss_bwd.h"

#include <algorithm>
#include <cmath>

#include "reference/composite_bwd/composite_bwd.h"
#include "reference/composite_fwd/ray.h"
#include "reference/generator.h"

namespace klab {
namespace {

CompositeLossFwd::Args<double> forward_of(const CompositeLossBwd::Args<double>& x) {
  return {x.shape, x.ray_begin, x.density_raw, x.rgb, x.delta, x.background, x.target, x.loss};
}

}  // namespace

void CompositeLossBwd::arrange(const Args<float>& x, Generator& random) {
  CompositeLossFwd::arrange(
      {x.shape, x.ray_begin, x.density_raw, x.rgb, x.delta, x.background, x.target, nullptr}, random);
}

// With g given, composite_bwd's bound of 24u holds. A variant may sum colors before it knows g: <g, T·rgb_i +
// prefix_i - total> in place of T·p_i + prefix of w·p - total of it. That rounds the two sums of each channel
// once more and adds three products: 8u at most of the same terms, 32u in all.
//
// g has an error, too. l' has a slope of at most 2 (squared error) or 1, so g is off by d_loss/3 times that
// slope times the error of the color, by four roundings, and by underflow in three products. The gradients
// are linear in g: the effect of its error is the gradient with |error| in the place of g, with all signs
// alike, on the weights and transmittances that a variant may have.
void CompositeLossBwd::reference(const Args<double>& x, const Args<double>& magnitude) {
  const auto [rays, samples, kind] = x.shape;
  CompositeLossFwd::Args<double> size{};
  size.loss = magnitude.loss;
  CompositeLossFwd::reference(forward_of(x), size);
  for (int64_t r = 0; r < rays; ++r) size.loss[r] *= CompositeLossFwd::terms(x.shape) / terms(x.shape);
  const CompositeLossFwd::Colors colors = CompositeLossFwd::colors(forward_of(x));

  std::vector<double> g(size_t(3 * rays)), g_error(size_t(3 * rays));
  const double turn = CompositeLossFwd::turn(kind), steepest = kind == 0 ? 2 : 1;
  for (int64_t k = 0; k < 3 * rays; ++k) {
    const double share = x.d_loss[k % rays] / 3, e = colors.value[size_t(k)] - x.target[k];
    g[size_t(k)] = share * (kind == 0 ? 2 * e : std::clamp(e, -turn, turn));
    g_error[size_t(k)] = std::abs(share) * steepest * colors.error[size_t(k)] +
                         4 * 0x1p-24 * std::abs(g[size_t(k)]) + 4 * 0x1p-149;
  }

  const std::vector<double> none(
      size_t(std::max(rays, samples)));  // distances, gradients of opacity and depth
  CompositeBwd::Args<double> bound_of_given{};
  bound_of_given.d_density_raw = magnitude.d_density_raw;
  bound_of_given.d_rgb = magnitude.d_rgb;
  CompositeBwd::reference({{rays, samples},
                           x.ray_begin,
                           x.density_raw,
                           x.rgb,
                           x.delta,
                           none.data(),
                           x.background,
                           g.data(),
                           none.data(),
                           none.data(),
                           x.d_density_raw,
                           x.d_rgb},
                          bound_of_given);

  const double unit = terms(x.shape) * 0x1p-24;
  for (int64_t r = 0; r < rays; ++r) {
    const int64_t first = x.ray_begin[r], n = x.ray_begin[r + 1] - first;
    TracedRay ray = trace(x.density_raw + first, x.delta + first, n);
    const RayBound b = bound(ray, CompositeLossFwd::stop);
    for (size_t i = 0; i < size_t(n); ++i) ray.weight[i] += 12 * 0x1p-24 * b.weight[i];
    for (size_t i = 0; i <= size_t(n); ++i) ray.T[i] += 12 * 0x1p-24 * b.T[i];
    ray.T[size_t(n)] += b.behind;  // where a variant has stopped
    const auto payload = [&, s = samples, all = rays](int64_t i) {
      double p = 0;
      for (int64_t c = 0; c < 3; ++c) p += g_error[size_t(c * all + r)] * x.rgb[c * s + first + i];
      return p;
    };
    double whole = 0;
    for (int64_t c = 0; c < 3; ++c)
      whole += ray.T[size_t(n)] * g_error[size_t(c * rays + r)] * x.background[c * rays + r];
    for (int64_t i = 0; i < n; ++i) whole += ray.weight[size_t(i)] * payload(i);
    for (int64_t i = 0; i < n; ++i) {
      const double slope = std::exp(std::clamp(x.density_raw[first + i], -15.0, 15.0)) * x.delta[first + i];
      magnitude.d_density_raw[first + i] += slope * (ray.T[size_t(i) + 1] * payload(i) + whole) / unit;
      for (int64_t c = 0; c < 3; ++c)
        magnitude.d_rgb[c * samples + first + i] +=
            ray.weight[size_t(i)] * g_error[size_t(c * rays + r)] / unit;
    }
  }
}

}  // namespace klab
