#include "reference/composite_bwd/composite_bwd.h"

#include <algorithm>
#include <cmath>

#include "reference/composite_fwd/ray.h"
#include "reference/generator.h"

namespace klab {

void CompositeBwd::arrange(const Args<float>& x, Generator& random) {
  CompositeFwd::Args<float> forward{};
  forward.shape = x.shape;
  forward.ray_begin = x.ray_begin;
  forward.density_raw = x.density_raw;
  forward.rgb = x.rgb;
  forward.background = x.background;
  forward.delta = x.delta;
  forward.t = x.t;
  CompositeFwd::arrange(forward, random);
}

// The bound, in units of 24u. Weights and transmittances err by 12u times RayBound's entries. p_i is a sum of
// four products: 4u of P_i = sum |g·rgb| + |z|·t; q likewise, of Q. A suffix may be summed from the back or
// be taken as total - prefix; either way its error is at most that of the ray's whole sum, 12u + 4u + u·n
// (the sum) times
//   whole = sum_j bound.weight_j·P_j + bound.T_n·Q,
// The n is within the factor n+1 of RayBound, so 17u. exp' (4u), delta, their product's and the difference's
// rounding add 7u of the terms, and RayBound's entries are at least as large: 24u. Left-out samples, T <
// stop: their own gradient is at most exp'·delta·T·(P + max P). In all other gradients the suffix lacks up to
// T·max P, and may instead contain T·Q of background, of either sign. Where products are denormal, each of
// five a sample loses up to 2^-149 before the slope.
void CompositeBwd::reference(const Args<double>& x, const Args<double>& magnitude) {
  const int64_t rays = x.shape.rays, samples = x.shape.samples;
  const double unit = terms(x.shape) * 0x1p-24;
  for (int64_t r = 0; r < rays; ++r) {
    const int64_t first = x.ray_begin[r], n = x.ray_begin[r + 1] - first;
    const TracedRay ray = trace(x.density_raw + first, x.delta + first, n);
    const RayBound b = bound(ray, CompositeFwd::stop);
    const auto payload = [&](int64_t i, auto&& f) {
      double p = f(x.d_depth[r] * x.t[first + i]);
      for (int64_t c = 0; c < 3; ++c) p += f(x.d_color[c * rays + r] * x.rgb[c * samples + first + i]);
      return p;
    };
    const auto same = [](double v) { return v; };
    const auto size = [](double v) { return std::abs(v); };
    double q = -x.d_opacity[r], q_size = std::abs(q);
    for (int64_t c = 0; c < 3; ++c) {
      const double term = x.d_color[c * rays + r] * x.background[c * rays + r];
      q += term;
      q_size += std::abs(term);
    }
    double whole = b.T[size_t(n)] * q_size, largest = q_size;
    for (int64_t i = 0; i < n; ++i) {
      whole += b.weight[size_t(i)] * payload(i, size);
      if (i >= b.stopped) largest = std::max(largest, payload(i, size));
    }
    double suffix = ray.T[size_t(n)] * q;
    for (int64_t i = n; i-- > 0;) {
      const double raw = x.density_raw[first + i];
      const double slope = std::exp(std::clamp(raw, -15.0, 15.0)) * x.delta[first + i];
      const double p_size = payload(i, size);
      x.d_density_raw[first + i] = slope * (ray.T[size_t(i) + 1] * payload(i, same) - suffix);
      suffix += ray.weight[size_t(i)] * payload(i, same);
      magnitude.d_density_raw[first + i] =
          slope *
          (b.T[size_t(i) + 1] * p_size + whole +
           (b.behind * (largest + q_size + (i >= b.stopped ? p_size : 0)) + 5 * double(n + 2) * 0x1p-149) /
               unit);
      for (int64_t c = 0; c < 3; ++c) {
        const double g = x.d_color[c * rays + r];
        const int64_t at = c * samples + first + i;
        x.d_rgb[at] = ray.weight[size_t(i)] * g;
        magnitude.d_rgb[at] =
            (b.weight[size_t(i)] + (i >= b.stopped ? ray.weight[size_t(i)] / unit : 0)) * std::abs(g);
      }
    }
  }
}

}  // namespace klab
