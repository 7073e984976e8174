// ema.cuda.02_sixteen_bytes: four entries per thread, 16 bytes an access.
//
// CHANGE   float4 where both arrays begin at multiples of 16 bytes; the others and the last three go one by
//          one.
// EXPECT   a quarter of the requests for the same sectors.
// SASS      LDG.128 STG.128; no LDL STL CALL
#include "harness/core/registrar.h"
#include "kernels/common/block_size.h"
#include "kernels/common/cuda.h"
#include "reference/ema/ema.h"

namespace klab {
namespace {

constexpr int kThreads = 256;

__global__ void __launch_bounds__(cuda::kMostThreads) average(Ema::Args<float> x, int64_t fours) {
  const int64_t at = int64_t(blockIdx.x) * blockDim.x + threadIdx.x;
  const float keep = *x.keep, take = 1 - keep;
  if (at < fours) {
    float4 a = reinterpret_cast<float4*>(x.average)[at];
    const float4 now = reinterpret_cast<const float4*>(x.now)[at];
    a.x = keep * a.x + take * now.x;
    a.y = keep * a.y + take * now.y;
    a.z = keep * a.z + take * now.z;
    a.w = keep * a.w + take * now.w;
    reinterpret_cast<float4*>(x.average)[at] = a;
  }
  const int64_t i = 4 * fours + (at - fours);  // threads behind the fours take the rest
  if (at >= fours && i < x.shape.n) x.average[i] = keep * x.average[i] + take * x.now[i];
}

void run(const Ema::Args<float>& x) {
  if (x.shape.n == 0) return;
  const int64_t fours = cuda::aligned(x.now) && cuda::aligned(x.average) ? x.shape.n / 4 : 0;
  const int64_t threads = fours + x.shape.n - 4 * fours;
  const int block = cuda::block_size("ema.cuda.02_sixteen_bytes", kThreads);
  cuda::launch(average, dim3(unsigned((threads + block - 1) / block)), dim3(unsigned(block)), 0, x, fours);
}

KLAB_VARIANT(Ema, {.run = run, .parent = "01_naive", .tiles = {4, 4 * kThreads}});

}  // namespace
}  // namespace klab
