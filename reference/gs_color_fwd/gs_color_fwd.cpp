#include "reference/gs_color_fwd/gs_color_fwd.h"

#include "reference/generator.h"
#include "reference/gs_color_fwd/shade.h"

namespace klab {

void GsColorFwd::arrange(const Args<float>& x, Generator& random) {
  using Uniform = std::uniform_real_distribution<double>;
  const int64_t n = x.shape.n, functions = x.shape.functions();
  auto *eye = const_cast<float*>(x.eye), *position = const_cast<float*>(x.position),
       *coefficients = const_cast<float*>(x.coefficients);
  double eye_wide[3];
  for (int k = 0; k < 3; ++k) eye[k] = float(0.5 + (random() % 2 ? 1.5 : -1.5) * Uniform(0.6, 1.4)(random));
  for (int k = 0; k < 3; ++k) eye_wide[k] = eye[k];
  std::vector<double> at(3), own(size_t(3 * functions));
  for (int64_t i = 0; i < n; ++i) {
    for (size_t k = 0; k < 3; ++k) at[k] = position[int64_t(k) * n + i] = float(Uniform(0, 1)(random));
    const double spread = random.widely ? 3 : 0.3;
    while (true) {
      for (double& v : own) v = float(spread * std::normal_distribution<double>()(random));
      const Shade s = shade({.n = 1, .degree = x.shape.degree}, eye_wide, at.data(), own.data(), 0);
      bool clear = true;
      for (const RunningError& sum : s.sum) clear = clear && std::abs(sum.value) > 0.01;
      if (clear) break;
    }
    for (int64_t k = 0; k < 3 * functions; ++k) coefficients[k * n + i] = float(own[size_t(k)]);
  }
}

void GsColorFwd::reference(const Args<double>& x, const Args<double>& magnitude) {
  const int64_t n = x.shape.n;
  for (int64_t i = 0; i < n; ++i) {
    const Shade s = shade(x.shape, x.eye, x.position, x.coefficients, i);
    for (int64_t c = 0; c < 3; ++c) {
      x.color[c * n + i] = std::max(0.0, s.sum[size_t(c)].value);
      magnitude.color[c * n + i] = s.sum[size_t(c)].error;
    }
  }
}

}  // namespace klab
