// gs_color_fwd.cpu.02_threads: Gaussians shared out among the cores.
//
// CHANGE    each thread has a contiguous part.
// EXPECT    near the number of cores, until memory is busy.
// NUMERICS  as the parent.
#include <algorithm>
#include <cmath>

#include "harness/core/registrar.h"
#include "kernels/common/sh_basis.h"
#include "reference/gs_color_fwd/gs_color_fwd.h"

namespace klab {
namespace {

constexpr int64_t kLeast = 1024;  // Gaussians for which threads are worth waking

void run(const GsColorFwd::Args<float>& x) {
  const int64_t n = x.shape.n, functions = x.shape.functions();
#pragma omp parallel for schedule(static) if (n > kLeast)
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

KLAB_VARIANT(GsColorFwd, {.run = run,
                          .parent = "01_naive",
                          .numerics = {.growth = Growth::linear},
                          .tiles = {kLeast},
                          .expect = {.shape = {50000, 3}, .over_parent = 1.4}});

}  // namespace
}  // namespace klab
