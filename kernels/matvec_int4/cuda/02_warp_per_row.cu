// matvec_int4.cuda.02_warp_per_row: a warp along a row, a word of eight weights a lane.
//
// CHANGE    32 lanes read 128 contiguous bytes, eight blocks of the row; four lanes have a block. Sums are
//           joined by shuffles.
// EXPECT    four sectors/request, all of them used; an eighth of the requests. Near the bandwidth of the
//           memory.
// NUMERICS  float; 32 partial sums.
// NEEDS     nothing; where q does not begin on 4 bytes, a byte at a time.
#include "harness/core/registrar.h"
#include "kernels/common/cuda.h"
#include "reference/matvec_int4/matvec_int4.h"

namespace klab {
namespace {

constexpr int kThreads = 128, kWarps = kThreads / 32;

__device__ __forceinline__ unsigned word_at(const uint8_t* p, bool aligned) {
  if (aligned) return *reinterpret_cast<const unsigned*>(p);
  return unsigned(p[0]) | unsigned(p[1]) << 8 | unsigned(p[2]) << 16 | unsigned(p[3]) << 24;
}

__global__ void __launch_bounds__(kThreads)
    multiply(int64_t n, int64_t blocks, bool aligned, const uint8_t* __restrict__ q,
             const __half* __restrict__ scale, const float* __restrict__ x, float* __restrict__ y) {
  constexpr int kBlock = int(MatvecInt4::kBlock), kHalf = kBlock / 2;
  const int lane = int(threadIdx.x) % 32,
            within = lane % 4 * 4;  // first byte of the lane's four, in its block
  const int64_t i = int64_t(blockIdx.x) * kWarps + threadIdx.x / 32;
  if (i >= n) return;
  float sum = 0;
  for (int64_t g = lane / 4; g < blocks; g += 8) {
    const unsigned word = word_at(q + (i * blocks + g) * kHalf + within, aligned);
    const float* in = x + g * kBlock + within;
    float part = 0;
#pragma unroll
    for (int b = 0; b < 4; ++b) {
      part += float(int(word >> (8 * b) & 15U) - 8) * in[b];
      part += float(int(word >> (8 * b + 4) & 15U) - 8) * in[b + kHalf];
    }
    sum += __half2float(scale[i * blocks + g]) * part;
  }
  for (int offset = 16; offset > 0; offset /= 2) sum += __shfl_xor_sync(~0u, sum, offset);
  if (lane == 0) y[i] = sum;
}

void run(const MatvecInt4::Args<float>& x) {
  const int64_t n = x.shape.n;
  if (n == 0) return;
  cuda::launch(multiply, dim3(unsigned((n + kWarps - 1) / kWarps)), dim3(kThreads), 0, n, x.shape.blocks,
               reinterpret_cast<uintptr_t>(x.q) % 4 == 0, x.q, reinterpret_cast<const __half*>(x.scale), x.x,
               x.y);
}

KLAB_VARIANT(MatvecInt4, {.run = run,
                          .parent = "01_thread_per_row",
                          .tiles = {kWarps, 8},
                          .expect = {.shape = {4096, 128}, .over_parent = 4}});

}  // namespace
}  // namespace klab
