// sh_fwd.cuda.01_naive: one thread per direction and function.
//
// CHANGE    the naive loops, both of them spread over threads: the function is the grid's second dimension, so that
//           no warp has two.
// EXPECT    coalesced, but directions are read once a function, 16 times from L2 in place of once from memory, and
//           every product is computed wherever it appears.
// NUMERICS  one rounding a factor.
#include "harness/core/registrar.h"
#include "kernels/common/cuda.h"
#include "reference/sh_fwd/sh_fwd.h"

namespace klab {
namespace {

constexpr int kThreads = 256;

__device__ float basis(unsigned k, float x, float y, float z) {
  switch (k) {
    case 0:
      return 0.28209479177387814F;
    case 1:
      return -0.48860251190291992F * y;
    case 2:
      return 0.48860251190291992F * z;
    case 3:
      return -0.48860251190291992F * x;
    case 4:
      return 1.0925484305920790F * x * y;
    case 5:
      return -1.0925484305920790F * y * z;
    case 6:
      return 0.94617469575755997F * z * z - 0.31539156525252001F;
    case 7:
      return -1.0925484305920790F * x * z;
    case 8:
      return 0.54627421529603948F * x * x - 0.54627421529603948F * y * y;
    case 9:
      return -1.7701307697799305F * x * x * y + 0.59004358992664352F * y * y * y;
    case 10:
      return 2.8906114426405540F * x * y * z;
    case 11:
      return 0.45704579946446577F * y - 2.2852289973223288F * y * z * z;
    case 12:
      return 1.8658816629505769F * z * z * z - 1.1195289977703462F * z;
    case 13:
      return 0.45704579946446577F * x - 2.2852289973223288F * x * z * z;
    case 14:
      return 1.4453057213202770F * x * x * z - 1.4453057213202770F * y * y * z;
    default:
      return -0.59004358992664352F * x * x * x + 1.7701307697799305F * x * y * y;
  }
}

__global__ void __launch_bounds__(kThreads)
    encode(int64_t n, const float* __restrict__ directions, float* __restrict__ out) {
  const int64_t i = int64_t(blockIdx.x) * kThreads + threadIdx.x;
  if (i >= n) return;
  const unsigned k = blockIdx.y;
  out[k * n + i] = basis(k, directions[i], directions[n + i], directions[2 * n + i]);
}

void run(const ShFwd::Args<float>& x) {
  const auto [n, degree] = x.shape;
  if (n == 0) return;
  const dim3 blocks(unsigned((n + kThreads - 1) / kThreads), unsigned(degree * degree));
  cuda::launch(encode, blocks, dim3(kThreads), 0, n, x.directions, x.basis);
}

KLAB_VARIANT(ShFwd, {.run = run, .tiles = {kThreads}});

}  // namespace
}  // namespace klab
