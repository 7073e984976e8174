// all_finite.cuda.02_sixteen_bytes: four entries per thread, 16 bytes an access.
//
// CHANGE   float4 where the array begins at a multiple of 16 bytes.
// EXPECT   a quarter of the requests for the same sectors.
// SASS      LDG.128; no LDL STL CALL
#include "harness/core/registrar.h"
#include "kernels/common/cuda.h"
#include "reference/all_finite/all_finite.h"

namespace klab {
namespace {

constexpr int kThreads = 256;

__device__ __forceinline__ void look(AllFinite::Args<float> x, float v, int64_t i) {
  if (!(fabsf(v) <= 3.402823466e+38F)) atomicMin(x.first, int(i));
}

__global__ void __launch_bounds__(kThreads) find(AllFinite::Args<float> x, int64_t fours) {
  const int64_t at = int64_t(blockIdx.x) * kThreads + threadIdx.x;
  if (at < fours) {
    const float4 four = reinterpret_cast<const float4*>(x.p)[at];
    look(x, four.x, 4 * at);
    look(x, four.y, 4 * at + 1);
    look(x, four.z, 4 * at + 2);
    look(x, four.w, 4 * at + 3);
    return;
  }
  const int64_t i = 4 * fours + (at - fours);
  if (i < x.shape.n) look(x, x.p[i], i);
}

void run(const AllFinite::Args<float>& x) {
  if (x.shape.n == 0) return;
  const int64_t fours = reinterpret_cast<uintptr_t>(x.p) % 16 == 0 ? x.shape.n / 4 : 0;
  const int64_t threads = fours + x.shape.n - 4 * fours;
  cuda::launch(find, dim3(unsigned((threads + kThreads - 1) / kThreads)), dim3(kThreads), 0, x, fours);
}

KLAB_VARIANT(AllFinite, {.run = run, .parent = "01_naive", .tiles = {4, 4 * kThreads}});

}  // namespace
}  // namespace klab
