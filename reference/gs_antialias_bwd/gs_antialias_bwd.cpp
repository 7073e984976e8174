#include "reference/gs_antialias_bwd/gs_antialias_bwd.h"

#include <array>

#include "reference/generator.h"
#include "reference/gs_antialias_fwd/widened.h"

namespace klab {

void GsAntialiasBwd::arrange(const Args<float>& x, Generator& random) {
  GsAntialiasFwd::Args<float> forward{};
  forward.shape = x.shape;
  forward.conic = x.conic;
  forward.opacity = x.opacity;
  GsAntialiasFwd::arrange(forward, random);
}

void GsAntialiasBwd::reference(const Args<double>& x, const Args<double>& magnitude) {
  using Real = RunningError;
  const int64_t n = x.shape.n;
  const Real b = rounded(GsAntialiasFwd::blur), two = 2;
  for (int64_t i = 0; i < n; ++i) {
    const Widened w = widened(x.conic, n, i);
    // A gradient may be denormal: give it an error of a few of the smallest steps.
    const Real given(x.d_shown[i], 0x1p-120);
    const Real d_opacity = given * w.factor;
    const Real free = given * Real(x.opacity[i]) / (two * w.factor);
    Real g = w.held ? Real(0) : free;
    if (w.unsure) g.error += 0x1p24 * std::abs(free.value);  // as large as the gradient
    x.d_opacity[i] = d_opacity.value;
    magnitude.d_opacity[i] = d_opacity.error;
    const std::array<Real, 3> d = {-(b * w.across) * g, -(two * b * w.slant) * g, -(b * w.along) * g};
    for (size_t k = 0; k < 3; ++k) {
      const int64_t at = int64_t(k) * n + i;
      const Real sum = Real(x.d_conic[at]) + d[k];
      x.d_conic[at] = sum.value;
      magnitude.d_conic[at] = sum.error;
    }
  }
}

}  // namespace klab
