// sh_bwd.cuda.01_naive: one thread per direction, one function after the other.
//
// CHANGE    the naive loops: a thread adds up the functions' derivatives of its direction. (A thread a function, as
//           in the forward, would need atomics.)
// EXPECT    coalesced, one request in flight after the other; each derivative from its factors, chosen by a switch
//           that all lanes take the same way.
// NUMERICS  one rounding a factor; functions in order.
#include "harness/core/registrar.h"
#include "kernels/common/cuda.h"
#include "reference/sh_bwd/sh_bwd.h"

namespace klab {
namespace {

constexpr int kThreads = 256;

struct Slope {
  float x, y, z;
};

__device__ Slope slope(int k, float x, float y, float z) {
  switch (k) {
    case 0:
      return {0, 0, 0};
    case 1:
      return {0, -0.48860251190291992F, 0};
    case 2:
      return {0, 0, 0.48860251190291992F};
    case 3:
      return {-0.48860251190291992F, 0, 0};
    case 4:
      return {1.0925484305920790F * y, 1.0925484305920790F * x, 0};
    case 5:
      return {0, -1.0925484305920790F * z, -1.0925484305920790F * y};
    case 6:
      return {0, 0, 1.8923493915151199F * z};
    case 7:
      return {-1.0925484305920790F * z, 0, -1.0925484305920790F * x};
    case 8:
      return {1.0925484305920790F * x, -1.0925484305920790F * y, 0};
    case 9:
      return {-3.5402615395598609F * x * y, 1.7701307697799305F * y * y - 1.7701307697799305F * x * x, 0};
    case 10:
      return {2.8906114426405540F * y * z, 2.8906114426405540F * x * z, 2.8906114426405540F * x * y};
    case 11:
      return {0, 0.45704579946446577F - 2.2852289973223288F * z * z, -4.5704579946446577F * y * z};
    case 12:
      return {0, 0, 5.5976449888517312F * z * z - 1.1195289977703462F};
    case 13:
      return {0.45704579946446577F - 2.2852289973223288F * z * z, 0, -4.5704579946446577F * x * z};
    case 14:
      return {2.8906114426405540F * x * z, -2.8906114426405540F * y * z,
              1.4453057213202770F * x * x - 1.4453057213202770F * y * y};
    default:
      return {1.7701307697799305F * y * y - 1.7701307697799305F * x * x, 3.5402615395598609F * x * y, 0};
  }
}

__global__ void __launch_bounds__(kThreads)
    backward(int64_t n, int functions, const float* __restrict__ directions,
             const float* __restrict__ d_basis, float* __restrict__ d_directions) {
  const int64_t i = int64_t(blockIdx.x) * kThreads + threadIdx.x;
  if (i >= n) return;
  const float x = directions[i], y = directions[n + i], z = directions[2 * n + i];
  float dx = 0, dy = 0, dz = 0;
#pragma unroll 1
  for (int k = 0; k < functions; ++k) {
    const Slope s = slope(k, x, y, z);
    const float g = d_basis[k * n + i];
    dx += g * s.x;
    dy += g * s.y;
    dz += g * s.z;
  }
  d_directions[i] = dx;
  d_directions[n + i] = dy;
  d_directions[2 * n + i] = dz;
}

void run(const ShBwd::Args<float>& x) {
  const auto [n, degree] = x.shape;
  if (n == 0) return;
  cuda::launch(backward, dim3(unsigned((n + kThreads - 1) / kThreads)), dim3(kThreads), 0, n,
               int(degree * degree), x.directions, x.d_basis, x.d_directions);
}

KLAB_VARIANT(ShBwd, {.run = run, .tiles = {kThreads}});

}  // namespace
}  // namespace klab
