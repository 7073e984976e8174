// unscale.cuda.02_sixteen_bytes: four entries per thread, 16 bytes an access.
//
// CHANGE   float4 where the array begins at a multiple of 16 bytes.
// EXPECT   a quarter of the requests for the same sectors.
// SASS      LDG.128 STG.128; no LDL STL CALL.div_*64
#include "harness/core/registrar.h"
#include "kernels/common/block_size.h"
#include "kernels/common/cuda.h"
#include "reference/unscale/unscale.h"

namespace klab {
namespace {

constexpr int kThreads = 256;

__global__ void __launch_bounds__(cuda::kMostThreads) unscale(Unscale::Args<float> x, int64_t fours) {
  const int64_t at = int64_t(blockIdx.x) * blockDim.x + threadIdx.x;
  const bool finite = *x.first == 0x7FFFFFFF;
  const float factor = 1 / *x.scale;
  if (at < fours) {
    float4& four = reinterpret_cast<float4*>(x.gradient)[at];
    float4 g = make_float4(0, 0, 0, 0);
    if (finite) {
      g = four;
      g.x *= factor, g.y *= factor, g.z *= factor, g.w *= factor;
    }
    four = g;
    return;
  }
  const int64_t i = 4 * fours + (at - fours);
  if (i < x.shape.n) x.gradient[i] = finite ? x.gradient[i] * factor : 0;
}

void run(const Unscale::Args<float>& x) {
  if (x.shape.n == 0) return;
  const int64_t fours = reinterpret_cast<uintptr_t>(x.gradient) % 16 == 0 ? x.shape.n / 4 : 0;
  const int64_t threads = fours + x.shape.n - 4 * fours;
  const int block = cuda::block_size("unscale.cuda.02_sixteen_bytes", kThreads);
  cuda::launch(unscale, dim3(unsigned((threads + block - 1) / block)), dim3(unsigned(block)), 0, x, fours);
}

KLAB_VARIANT(Unscale, {.run = run, .parent = "01_naive", .tiles = {4, 4 * kThreads}});

}  // namespace
}  // namespace klab
