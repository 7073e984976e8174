#include "reference/gs_color_bwd/gs_color_bwd.h"

#include "reference/gs_color_fwd/shade.h"

namespace klab {

void GsColorBwd::arrange(const Args<float>& x, Generator& random) {
  GsColorFwd::Args<float> forward{};
  forward.shape = x.shape;
  forward.eye = x.eye;
  forward.position = x.position;
  forward.coefficients = x.coefficients;
  GsColorFwd::arrange(forward, random);
}

void GsColorBwd::reference(const Args<double>& x, const Args<double>& magnitude) {
  using Real = RunningError;
  const int64_t n = x.shape.n;
  for (int64_t i = 0; i < n; ++i) {
    const Shade s = shade(x.shape, x.eye, x.position, x.coefficients, i);
    std::array<Real, 3> g, d_view{};
    for (size_t c = 0; c < 3;
         ++c)  // a gradient may be denormal, as if it erred by some of the smallest steps
      g[c] = s.sum[c].value > 0 ? Real(x.d_color[int64_t(c) * n + i], 0x1p-120) : Real(0);
    for (int64_t k = 0; k < x.shape.functions(); ++k)
      for (int64_t c = 0; c < 3; ++c) {
        const int64_t at = (3 * k + c) * n + i;
        const Real d = s.basis[size_t(k)] * g[size_t(c)];
        x.d_coefficients[at] = d.value;
        magnitude.d_coefficients[at] = d.error;
        for (size_t axis = 0; axis < 3; ++axis)
          d_view[axis] += Real(x.coefficients[at]) * g[size_t(c)] * s.slope[size_t(k)][axis];
      }
    const Real along = s.view[0] * d_view[0] + s.view[1] * d_view[1] + s.view[2] * d_view[2];
    for (size_t axis = 0; axis < 3; ++axis) {
      const Real d = (d_view[axis] - s.view[axis] * along) / s.distance;
      x.d_position[int64_t(axis) * n + i] = d.value;
      magnitude.d_position[int64_t(axis) * n + i] = d.error;
    }
  }
}

}  // namespace klab
