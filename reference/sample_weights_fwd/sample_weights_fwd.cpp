#include "reference/sample_weights_fwd/sample_weights_fwd.h"

#include <algorithm>
#include <cmath>

#include "reference/generator.h"

namespace klab {

void SampleWeightsFwd::arrange(const Args<float>& x, Generator& random) {
  auto* begin = const_cast<int32_t*>(x.ray_begin);
  auto *raw = const_cast<float*>(x.density_raw), *delta = const_cast<float*>(x.delta);
  std::uniform_real_distribution<float> unit(0, 1);
  for (int64_t r = 0; r < x.shape.rays; ++r)
    begin[r + 1] = r + 1 == x.shape.rays
                       ? int32_t(x.shape.samples)
                       : begin[r] + int32_t(random() % 4 ? (x.shape.samples - begin[r]) / 3 : 0);
  for (int64_t i = 0; i < x.shape.samples; ++i) {
    raw[i] = std::remainder(raw[i], 6.0F);
    delta[i] = random() % 16 == 0 ? 0.0F : 0.3F * unit(random);
    // Densities beyond the clamp of the gradient's exponential, with steps short enough for some light to
    // pass.
    if (random.widely && random() % 4 == 0) {
      raw[i] = 40 * unit(random) - 20;
      delta[i] = std::min(delta[i], unit(random) * std::exp(-raw[i]));
    }
  }
}

void SampleWeightsFwd::reference(const Args<double>& x, const Args<double>& magnitude) {
  for (int64_t r = 0; r < x.shape.rays; ++r) {
    double depth = 0, before = 1, error = 0;
    for (int64_t i = x.ray_begin[r]; i < x.ray_begin[r + 1]; ++i) {
      const double tau = std::exp(x.density_raw[i]) * x.delta[i];
      depth += tau;
      // Each term is off by u times the size of its logarithm and a little more, and the sum by u for each
      // term.
      error += tau * (std::abs(x.density_raw[i]) + double(i - x.ray_begin[r]) / 4 + 2);
      const double after = std::exp(-depth);
      x.weights[i] = before - after;
      magnitude.weights[i] = before * (1 + error);
      before = after;
    }
  }
}

}  // namespace klab
