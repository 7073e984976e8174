#include "reference/composite_fwd/composite_fwd.h"

#include <algorithm>
#include <cmath>

#include "reference/composite_fwd/ray.h"
#include "reference/generator.h"

namespace klab {
namespace {

using Uniform = std::uniform_real_distribution<double>;

/// Adds exact zeros and ones to the colors.
void strew_borders(const float* colors, int64_t count, Generator& random) {
  if (colors == nullptr) return;
  for (int64_t i = 0; i < count; ++i)
    if (random() % 8 == 0) const_cast<float*>(colors)[i] = random() % 2 ? 1.0F : 0.0F;
}

// Distributes samples over rays in several ways: one ray has all, or each has a few, or rays have them in
// runs. Draws densities on both sides of the clamp of exp', steps over seven powers of ten, some of length
// zero, and large distances.
void draw_widely(const CompositeFwd::Args<float>& x, Generator& random) {
  const auto [rays, samples] = x.shape;
  auto* begin = const_cast<int32_t*>(x.ray_begin);
  const int64_t owner = rays > 0 ? int64_t(random() % uint64_t(rays)) : 0;
  const bool one_has_all = random() % 2;
  for (int64_t r = 0; r <= rays; ++r)
    begin[r] = int32_t(one_has_all ? (r > owner ? samples : 0) : rays > 0 ? samples * r / rays : 0);
  auto *raw = const_cast<float*>(x.density_raw), *delta = const_cast<float*>(x.delta),
       *t = const_cast<float*>(x.t);
  double at = random() % 2 ? 0 : 1000;
  for (int64_t i = 0; i < samples; ++i) {
    raw[i] = float(Uniform(-40, 40)(random));
    if (random() % 4 == 0) raw[i] = random() % 2 ? 15.0F : -15.0F;
    // Most samples are thin, because nothing is seen behind a wall.
    const double depth = std::pow(10.0, Uniform(-6, random() % 64 == 0 ? 2 : -1)(random));
    delta[i] = random() % 16 == 0 ? 0.0F : float(std::min(depth / std::exp(double(raw[i])), 100.0));
    t[i] = float(at + 0.5 * delta[i]);
    at += delta[i];
  }
  strew_borders(x.rgb, 3 * samples, random);
  strew_borders(x.background, 3 * rays, random);
}

}  // namespace

void CompositeFwd::arrange(const Args<float>& x, Generator& random) {
  if (random.widely) return draw_widely(x, random);
  const auto [rays, samples] = x.shape;
  std::uniform_real_distribution<double> unit(0, 1);
  std::vector<double> share(size_t(rays) + 1);  // running sum of random lengths, exponentially distributed
  for (int64_t r = 0; r < rays; ++r) {
    const bool empty = unit(random) < 0.2 && r + 1 < rays;
    share[size_t(r) + 1] = share[size_t(r)] + (empty ? 0 : -std::log(1 - unit(random)));
  }
  auto* begin = const_cast<int32_t*>(x.ray_begin);
  auto *raw = const_cast<float*>(x.density_raw), *delta = const_cast<float*>(x.delta),
       *t = const_cast<float*>(x.t);
  for (int64_t r = 0; r <= rays; ++r)
    begin[r] = r < rays ? int32_t(double(samples) * share[size_t(r)] / share.back()) : int32_t(samples);
  for (int64_t i = 0; i < samples; ++i)
    if (std::abs(raw[i]) > 14) raw[i] = std::remainder(raw[i], 28.F);
  for (int64_t r = 0; r < rays; ++r) {
    double total = 0, largest = 0;  // optical depth at steps of mean 1; size of the logarithms
    for (int64_t i = begin[r]; i < begin[r + 1]; ++i) {
      delta[i] = unit(random) < 1.0 / 32 ? 0.F : float(0.5 + unit(random));
      total += std::exp(double(raw[i])) * delta[i];
      largest = std::max(largest, std::abs(double(raw[i])));
    }
    const double depth = unit(random) < 1.0 / 32 ? 14 : 8 * unit(random);
    const double n = begin[r + 1] - begin[r];
    const double step = depth / (largest <= 5 && total > 0 ? total : n);
    double at = 0.1 + unit(random);
    for (int64_t i = begin[r]; i < begin[r + 1]; ++i) {
      delta[i] = float(delta[i] * step);
      t[i] = float(at + 0.5 * delta[i]);
      at += delta[i];
    }
  }
}

void CompositeFwd::reference(const Args<double>& x, const Args<double>& magnitude) {
  const auto [rays, samples] = x.shape;
  for (int64_t r = 0; r < rays; ++r) {
    const int64_t first = x.ray_begin[r], n = x.ray_begin[r + 1] - first;
    const TracedRay ray = trace(x.density_raw + first, x.delta + first, n);
    const RayBound b = bound(ray, stop);
    const double left_out =
        b.behind / (terms(x.shape) * 0x1p-24);  // an error of b.behind, in the bound's units
    for (int64_t c = 0; c < 3; ++c) {
      const double* channel = x.rgb + c * samples + first;
      const double behind = x.background[c * rays + r];
      double sum = ray.T[size_t(n)] * behind, error = b.T[size_t(n)] * behind, brightest = behind;
      for (int64_t i = 0; i < n; ++i) {
        sum += ray.weight[size_t(i)] * channel[i];
        error += b.weight[size_t(i)] * std::abs(channel[i]);
        if (i >= b.stopped) brightest = std::max(brightest, std::abs(channel[i]));
      }
      x.color[c * rays + r] = sum;
      magnitude.color[c * rays + r] = error + left_out * brightest;
    }
    // Opacity is a sum of weights or 1 - T_n, at the variant's choice.
    double opacity = 0, opacity_error = 1 + b.T[size_t(n)], depth = 0, depth_error = 0, farthest = 0;
    for (int64_t i = 0; i < n; ++i) {
      opacity += ray.weight[size_t(i)];
      opacity_error += b.weight[size_t(i)];
      depth += ray.weight[size_t(i)] * x.t[first + i];
      depth_error += b.weight[size_t(i)] * std::abs(x.t[first + i]);
      if (i >= b.stopped) farthest = std::max(farthest, std::abs(x.t[first + i]));
    }
    x.opacity[r] = opacity;
    magnitude.opacity[r] = opacity_error + left_out;
    x.depth[r] = depth;
    magnitude.depth[r] = depth_error + left_out * farthest;
  }
}

}  // namespace klab
