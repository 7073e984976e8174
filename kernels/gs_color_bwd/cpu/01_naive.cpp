// gs_color_bwd.cpu.01_naive: one Gaussian after the other.
//
// CHANGE    the naive loop: the color again, to find the channels that were cut; then all coefficients again.
// EXPECT    twice the forward's loads, and as many stores.
#include <cmath>

#include "harness/core/registrar.h"
#include "kernels/common/sh_basis.h"
#include "reference/gs_color_bwd/gs_color_bwd.h"

namespace klab {
namespace {

void run(const GsColorBwd::Args<float>& x) {
  const int64_t n = x.shape.n, functions = x.shape.functions();
  const int degree = int(x.shape.degree);
  for (int64_t i = 0; i < n; ++i) {
    float v[3], basis[16], weight[16], g[3];
    for (int64_t e = 0; e < 3; ++e) v[e] = x.position[e * n + i] - x.eye[e];
    const float inverse = 1 / std::sqrt(v[0] * v[0] + v[1] * v[1] + v[2] * v[2]);
    for (float& e : v) e *= inverse;
    sh_basis(degree, v[0], v[1], v[2], basis);
    for (int64_t c = 0; c < 3; ++c) {
      float sum = 0.5F;
      for (int64_t k = 0; k < functions; ++k) sum += basis[k] * x.coefficients[(3 * k + c) * n + i];
      g[c] = sum > 0 ? x.d_color[c * n + i] : 0;
    }
    for (int64_t k = 0; k < functions; ++k) {
      weight[k] = 0;
      for (int64_t c = 0; c < 3; ++c) {
        weight[k] += x.coefficients[(3 * k + c) * n + i] * g[c];
        x.d_coefficients[(3 * k + c) * n + i] = basis[k] * g[c];
      }
    }
    float d[3];
    sh_gradient(degree, v[0], v[1], v[2], weight, d);
    const float along = v[0] * d[0] + v[1] * d[1] + v[2] * d[2];
    for (int64_t e = 0; e < 3; ++e) x.d_position[e * n + i] = (d[e] - v[e] * along) * inverse;
  }
}

KLAB_VARIANT(GsColorBwd, {.run = run, .numerics = {.growth = Growth::linear}});

}  // namespace
}  // namespace klab
