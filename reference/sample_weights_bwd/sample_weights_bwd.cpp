#include "reference/sample_weights_bwd/sample_weights_bwd.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "reference/generator.h"

namespace klab {

void SampleWeightsBwd::arrange(const Args<float>& x, Generator& random) {
  const SampleWeightsFwd::Args<float> forward{x.shape, x.ray_begin, x.density_raw, x.delta, nullptr};
  SampleWeightsFwd::arrange(forward, random);
}

void SampleWeightsBwd::reference(const Args<double>& x, const Args<double>& magnitude) {
  for (int64_t r = 0; r < x.shape.rays; ++r) {
    const int64_t begin = x.ray_begin[r], n = x.ray_begin[r + 1] - begin;
    std::vector<double> T(size_t(n) + 1, 1), error(size_t(n) + 1, 1);
    double depth = 0, wrong = 0;
    for (int64_t i = 0; i < n; ++i) {
      const double raw = x.density_raw[begin + i], tau = std::exp(raw) * x.delta[begin + i];
      depth += tau;
      wrong += tau * (std::abs(raw) + double(i) / 4 + 2);
      T[size_t(i) + 1] = std::exp(-depth);
      error[size_t(i) + 1] = T[size_t(i) + 1] * (1 + wrong);
    }
    double behind = 0, size = 0;
    for (int64_t i = n; i-- > 0;) {
      const double raw = x.density_raw[begin + i], g = x.d_weights[begin + i];
      const double slope = std::exp(std::clamp(raw, -15.0, 15.0)) * x.delta[begin + i];
      const double before = x.d_density_raw[begin + i];
      x.d_density_raw[begin + i] += slope * (T[size_t(i) + 1] * g - behind);
      magnitude.d_density_raw[begin + i] =
          std::abs(before) + slope * (std::abs(raw) + 2) * (error[size_t(i) + 1] * std::abs(g) + size) +
          0x1p-126 * (1 + slope) *
              double(n - i + 2);  // loss of the sum behind where it is denormal, and of the product
      behind += (T[size_t(i)] - T[size_t(i) + 1]) * g;
      size += (error[size_t(i)] + error[size_t(i) + 1]) * std::abs(g);
    }
  }
}

}  // namespace klab
