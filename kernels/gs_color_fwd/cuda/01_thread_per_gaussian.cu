// gs_color_fwd.cuda.01_thread_per_gaussian: one thread per Gaussian.
//
// CHANGE    the naive loop, spread over threads.
// EXPECT    whole sectors; 48 loads of coefficients that do not wait for each other.
// NUMERICS  sums in the order of the functions.
#include "harness/core/registrar.h"
#include "kernels/common/cuda.h"
#include "kernels/common/sh_basis.h"
#include "reference/gs_color_fwd/gs_color_fwd.h"

namespace klab {
namespace {

constexpr int kThreads = 256;

__global__ void __launch_bounds__(kThreads) each(GsColorFwd::Args<float> x) {
  const int64_t n = x.shape.n, functions = (x.shape.degree + 1) * (x.shape.degree + 1);
  const int64_t i = int64_t(blockIdx.x) * kThreads + threadIdx.x;
  if (i >= n) return;
  const float vx = x.position[i] - x.eye[0], vy = x.position[n + i] - x.eye[1],
              vz = x.position[2 * n + i] - x.eye[2];
  const float inverse = 1 / sqrtf(vx * vx + vy * vy + vz * vz);
  float basis[16];
  sh_basis(int(x.shape.degree), vx * inverse, vy * inverse, vz * inverse, basis);
  for (int64_t c = 0; c < 3; ++c) {
    float sum = 0.5F;
    for (int64_t k = 0; k < functions; ++k) sum += basis[k] * x.coefficients[(3 * k + c) * n + i];
    x.color[c * n + i] = fmaxf(0.0F, sum);
  }
}

void run(const GsColorFwd::Args<float>& x) {
  if (x.shape.n == 0) return;
  cuda::launch(each, unsigned((x.shape.n + kThreads - 1) / kThreads), kThreads, 0, x);
}

KLAB_VARIANT(GsColorFwd, {.run = run, .numerics = {.growth = Growth::linear}, .tiles = {kThreads}});

}  // namespace
}  // namespace klab
