// transpose.cuda.88_missing_wait: reads the data of the first copy while both are in flight, and starts a
// third to the same place.
#include "harness/core/registrar.h"
#include "kernels/common/cuda.h"
#include "reference/transpose/transpose.h"

namespace klab {
namespace {

__global__ void transpose(const float* in, float* out, int64_t m, int64_t n) {
  __shared__ float tile[2][32];
  const int x = threadIdx.x;
  const int64_t i = blockIdx.y;
  const auto fetch = [&](int64_t j0, int half) {
    if (j0 + x < n) cuda::copy_async<4>(&tile[half][x], &in[i * n + j0 + x]);  // FINDING missing wait
    cuda::copy_async_commit();
  };
  fetch(0, 0);
  for (int64_t j0 = 0; j0 < n; j0 += 32) {
    const int half = int(j0 / 32) & 1;
    fetch(j0 + 32, half ^ 1);
    cuda::copy_async_wait<2>();
    __syncwarp();
    if (j0 + x < n) out[(j0 + x) * m + i] = tile[half][x];  // FINDING missing wait
    __syncwarp();
  }
}

void run(const Transpose::Args<float>& x) {
  const auto [m, n] = x.shape;
  if (m == 0 || n == 0) return;
  cuda::launch(transpose, dim3(1, unsigned(m)), 32, 0, x.in, x.out, m, n);
}

KLAB_VARIANT(Transpose, {.run = run, .tiles = {32, 256}});

}  // namespace
}  // namespace klab
