// gs_color_bwd.cuda.01_thread_per_gaussian: one thread per Gaussian.
//
// CHANGE    the naive loop, spread over threads.
// EXPECT    coefficients are loaded twice; the second time they come from L2.
#include "harness/core/registrar.h"
#include "kernels/common/cuda.h"
#include "kernels/common/sh_basis.h"
#include "reference/gs_color_bwd/gs_color_bwd.h"

namespace klab {
namespace {

constexpr int kThreads = 256;

__global__ void __launch_bounds__(kThreads) each(GsColorBwd::Args<float> x) {
  const int64_t n = x.shape.n, functions = (x.shape.degree + 1) * (x.shape.degree + 1);
  const int degree = int(x.shape.degree);
  const int64_t i = int64_t(blockIdx.x) * kThreads + threadIdx.x;
  if (i >= n) return;
  float v[3], basis[16], weight[16], g[3];
  for (int64_t e = 0; e < 3; ++e) v[e] = x.position[e * n + i] - x.eye[e];
  const float inverse = 1 / sqrtf(v[0] * v[0] + v[1] * v[1] + v[2] * v[2]);
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

void run(const GsColorBwd::Args<float>& x) {
  if (x.shape.n == 0) return;
  cuda::launch(each, unsigned((x.shape.n + kThreads - 1) / kThreads), kThreads, 0, x);
}

KLAB_VARIANT(GsColorBwd, {.run = run, .numerics = {.growth = Growth::linear}, .tiles = {kThreads}});

}  // namespace
}  // namespace klab
