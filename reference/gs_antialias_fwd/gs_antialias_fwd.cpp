#include "reference/gs_antialias_fwd/gs_antialias_fwd.h"

#include <cmath>
#include <numbers>

#include "reference/generator.h"
#include "reference/gs_antialias_fwd/widened.h"

namespace klab {
void GsAntialiasFwd::arrange(const Args<float>& x, Generator& random) {
  using Uniform = std::uniform_real_distribution<double>;
  const int64_t n = x.shape.n;
  auto* conic = const_cast<float*>(x.conic);
  for (int64_t i = 0; i < n; ++i) {
    const auto variance = [&] {
      return std::pow(10.0, random.widely ? Uniform(-6, 4)(random) : Uniform(-1.4, 1.56)(random));
    };
    const double turn = Uniform(0, std::numbers::pi)(random), c = std::cos(turn), s = std::sin(turn);
    const double one = 1 / (variance() + blur), other = 1 / (variance() + blur);
    const double shown = random() % 16 == 0 ? 0 : 1;
    conic[i] = float(shown * (c * c * one + s * s * other));
    conic[n + i] = float(shown * c * s * (one - other));
    conic[2 * n + i] = float(shown * (s * s * one + c * c * other));
  }
}

void GsAntialiasFwd::reference(const Args<double>& x, const Args<double>& magnitude) {
  using Real = RunningError;
  for (int64_t i = 0; i < x.shape.n; ++i) {
    const Real shown = Real(x.opacity[i]) * widened(x.conic, x.shape.n, i).factor;
    x.shown[i] = shown.value;
    magnitude.shown[i] = shown.error;
  }
}

}  // namespace klab
