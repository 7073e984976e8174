// matvec_int4.cuda.03_rows_share_x: four rows a warp, a block of weights a lane, x in shared memory.
//
// CHANGE    a lane loads the 16 bytes of a block at once, of four rows. x lies in shared memory, 36 floats a block, so that
//           lanes read eight floats of x by two loads of 16 bytes without conflicts, for all four rows. A weight becomes a
//           float by an exponent that is put in front of it, since conversions have a quarter of the rate of additions.
// EXPECT    a quarter of the requests for weights; for x 2 of shared memory for four words of eight weights, where the parent
//           has 8 of 16 sectors for one. 17 million weights at 3 instructions are 1.6 million of a warp, 2 us; 9.4 MB are 2.2
//           us. 1,024 warps have 8 KB each on the way: some 6 us, at least 3 times the parent.
// NUMERICS  float; 32 partial sums.
// NEEDS     18 KiB of shared memory; arrays that begin at multiples of 16 bytes, others go byte by byte.
// SASS      LDG.128 LDS.128; no LDL STL CALL
#include "harness/core/registrar.h"
#include "kernels/common/cuda.h"
#include "reference/matvec_int4/matvec_int4.h"

namespace klab {
namespace {

constexpr int kThreads = 128, kWarps = kThreads / 32, kRows = 4;
constexpr int kBlock = int(MatvecInt4::kBlock), kHalf = kBlock / 2;
constexpr int kChunk = 128, kStride = kBlock + 4;  // blocks of x in shared memory, floats of one

__device__ __forceinline__ unsigned word_at(const uint8_t* p) {
  return unsigned(p[0]) | unsigned(p[1]) << 8 | unsigned(p[2]) << 16 | unsigned(p[3]) << 24;
}
__device__ __forceinline__ uint4 block_at(const uint8_t* p, bool aligned) {
  if (aligned) return *reinterpret_cast<const uint4*>(p);
  return make_uint4(word_at(p), word_at(p + 4), word_at(p + 8), word_at(p + 12));
}

/// Returns q - 8 for the lowest four bits: 2^23 + q is a float whose last bits are q.
__device__ __forceinline__ float weight(unsigned bits) {
  return __uint_as_float(0x4B000000U | (bits & 15U)) - 8388616.0F;
}

__global__ void __launch_bounds__(kThreads)
    multiply(int64_t n, int64_t blocks, bool aligned, const uint8_t* __restrict__ q,
             const __half* __restrict__ scale, const float* __restrict__ x, float* __restrict__ y) {
  __shared__ float4 near[kChunk * kStride / 4];
  const int lane = int(threadIdx.x) % 32;
  const int64_t i0 = (int64_t(blockIdx.x) * kWarps + threadIdx.x / 32) * kRows;
  float sum[kRows] = {};
  for (int64_t g0 = 0; g0 < blocks; g0 += kChunk) {
    const int here = int(min(blocks - g0, int64_t(kChunk)));
    __syncthreads();  // the last chunk is no longer read
    for (int e = int(threadIdx.x); e < here * kBlock / 4; e += kThreads) {
      const float* const from = x + g0 * kBlock + 4 * e;
      float4& to = near[e / 8 * (kStride / 4) + e % 8];
      if (aligned)
        to = *reinterpret_cast<const float4*>(from);
      else
        to = make_float4(from[0], from[1], from[2], from[3]);
    }
    __syncthreads();
    for (int g = lane; g < here; g += 32) {
      uint4 words[kRows];
      float factor[kRows], part[kRows] = {};
#pragma unroll
      for (int r = 0; r < kRows; ++r) {
        const int64_t at = min(i0 + r, n - 1) * blocks + g0 + g;  // rows beyond the last are not stored
        words[r] = block_at(q + at * kHalf, aligned);
        factor[r] = __half2float(scale[at]);
      }
      const float4* const in = near + g * (kStride / 4);
#pragma unroll
      for (int w = 0; w < 4; ++w) {
        const float4 low = in[w], high = in[w + 4];
#pragma unroll
        for (int r = 0; r < kRows; ++r) {
          const unsigned word = w == 0 ? words[r].x : w == 1 ? words[r].y : w == 2 ? words[r].z : words[r].w;
          part[r] += weight(word) * low.x + weight(word >> 4) * high.x;
          part[r] += weight(word >> 8) * low.y + weight(word >> 12) * high.y;
          part[r] += weight(word >> 16) * low.z + weight(word >> 20) * high.z;
          part[r] += weight(word >> 24) * low.w + weight(word >> 28) * high.w;
        }
      }
#pragma unroll
      for (int r = 0; r < kRows; ++r) sum[r] += factor[r] * part[r];
    }
  }
#pragma unroll
  for (int r = 0; r < kRows; ++r) {
    for (int offset = 16; offset > 0; offset /= 2) sum[r] += __shfl_xor_sync(~0u, sum[r], offset);
    if (lane == 0 && i0 + r < n) y[i0 + r] = sum[r];
  }
}

void run(const MatvecInt4::Args<float>& x) {
  const int64_t n = x.shape.n;
  if (n == 0) return;
  cuda::launch(multiply, dim3(unsigned((n + kWarps * kRows - 1) / (kWarps * kRows))), dim3(kThreads), 0, n,
               x.shape.blocks, cuda::aligned(x.q) && cuda::aligned(x.x), x.q,
               reinterpret_cast<const __half*>(x.scale), x.x, x.y);
}

KLAB_VARIANT(MatvecInt4, {.run = run,
                          .parent = "02_warp_per_row",
                          .tiles = {kWarps * kRows, 32, kChunk},
                          .expect = {.shape = {4096, 128}, .over_parent = 3}});

}  // namespace
}  // namespace klab
