// matvec_int4.cuda.01_thread_per_row: one thread, one output.
//
// CHANGE    the naive kernel: a thread goes along its row, a byte at a time.
// EXPECT    the lanes of a warp stand in 32 rows: each byte is its own sector, 32 sectors/request where one
//           would do.
// NUMERICS  float; a sum per block, scaled, and a sum of blocks.
#include "harness/core/registrar.h"
#include "kernels/common/cuda.h"
#include "reference/matvec_int4/matvec_int4.h"

namespace klab {
namespace {

constexpr int kThreads = 128;

__global__ void __launch_bounds__(kThreads)
    multiply(int64_t n, int64_t blocks, const uint8_t* __restrict__ q, const __half* __restrict__ scale,
             const float* __restrict__ x, float* __restrict__ y) {
  constexpr int kHalf = int(MatvecInt4::kBlock / 2);
  const int64_t i = int64_t(blockIdx.x) * kThreads + threadIdx.x;
  if (i >= n) return;
  float sum = 0;
  for (int64_t g = 0; g < blocks; ++g) {
    const uint8_t* bytes = q + (i * blocks + g) * kHalf;
    const float* in = x + g * 2 * kHalf;
    float block = 0;
    for (int b = 0; b < kHalf; ++b) {
      const int both = bytes[b];
      block += float((both & 15) - 8) * in[b];
      block += float((both >> 4) - 8) * in[b + kHalf];
    }
    sum += __half2float(scale[i * blocks + g]) * block;
  }
  y[i] = sum;
}

void run(const MatvecInt4::Args<float>& x) {
  const int64_t n = x.shape.n;
  if (n == 0) return;
  cuda::launch(multiply, dim3(unsigned((n + kThreads - 1) / kThreads)), dim3(kThreads), 0, n, x.shape.blocks,
               x.q, reinterpret_cast<const __half*>(x.scale), x.x, x.y);
}

KLAB_VARIANT(MatvecInt4, {.run = run, .tiles = {kThreads}});

}  // namespace
}  // namespace klab
