// gs_color_fwd.cpu.01_naive: one Gaussian after the other.
//
// CHANGE    the naive loop: the basis of one direction, then three sums over it.
// EXPECT    48 coefficients that lie 48 arrays apart: a cache line of each serves sixteen Gaussians, if it stays that long.
// NUMERICS  sums in the order of the functions.
#include <algorithm>
#include <cmath>

#include "harness/core/registrar.h"
#include "kernels/common/sh_basis.h"
#include "reference/gs_color_fwd/gs_color_fwd.h"

namespace klab {
namespace {

void run(const GsColorFwd::Args<float>& x) {
  const int64_t n = x.shape.n, functions = x.shape.functions();
  for (int64_t i = 0; i < n; ++i) {
    const float vx = x.position[i] - x.eye[0], vy = x.position[n + i] - x.eye[1],
                vz = x.position[2 * n + i] - x.eye[2];
    const float inverse = 1 / std::sqrt(vx * vx + vy * vy + vz * vz);
    float basis[16];
    sh_basis(int(x.shape.degree), vx * inverse, vy * inverse, vz * inverse, basis);
    for (int64_t c = 0; c < 3; ++c) {
      float sum = 0.5F;
      for (int64_t k = 0; k < functions; ++k) sum += basis[k] * x.coefficients[(3 * k + c) * n + i];
      x.color[c * n + i] = std::max(0.0F, sum);
    }
  }
}

KLAB_VARIANT(GsColorFwd, {.run = run, .numerics = {.growth = Growth::linear}});

}  // namespace
}  // namespace klab
