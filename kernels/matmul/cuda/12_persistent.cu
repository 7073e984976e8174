// matmul.cuda.12_persistent: factors rounded as they lie, and one block a multiprocessor.
//
// CHANGE    one launch rounds A and B, 8 elements a thread, without turning B: wgmma transposes elements of two bytes as it reads. The
//           product is that of matmul_bf16.cuda.05_persistent: tiles of 128 x 256, a block takes one after the other, sums leave
//           by TMA while the next tile is fetched.
// EXPECT    rounding is most of the parent's time, by a thread an element with a division each: its product alone is that of
//           matmul_bf16.cuda.04_wgmma_tma. Rounding moves 50 MB at 2048 cubed, a dozen microseconds at the memory's rate, and the
//           product takes two dozen: at least twice the parent.
// NUMERICS  as the parent.
// NEEDS     as the parent; 226 KB of shared memory.
// SASS      HGMMA.64x256x16.BF16 UTMALDG UTMASTG USETMAXREG LDG.128; no LDL STL
#include "harness/core/registrar.h"
#include "kernels/common/cuda.h"
#include "kernels/common/matmul/aligned_rows.h"
#include "kernels/common/matmul/hopper_bf16.h"
#include "reference/matmul/matmul.h"

namespace klab {
namespace {

/// A matrix [.., columns] and its rounded copy, rows of `stride` elements, a multiple of 8. `whole`: no edges, aligned to 16
/// bytes.
struct Rounding {
  const float* from;
  __nv_bfloat16* to;
  int64_t columns, stride, total;
  bool whole;
};

constexpr int kRoundingThreads = 256, kEach = 8;

Rounding rounding_of(const float* from, int64_t rows, int64_t columns, const cuda::Scratch& to) {
  const int64_t stride = aligned_stride<__nv_bfloat16>(columns);
  const bool whole = stride == columns && reinterpret_cast<uintptr_t>(from) % 16 == 0;
  return {from, to.as<__nv_bfloat16>(), columns, stride, rows * stride, whole};
}
int64_t blocks_of(const Rounding& r) { return (r.total / kEach + kRoundingThreads - 1) / kRoundingThreads; }

/// Rounds the elements from `at` on.
__device__ __forceinline__ void round_eight(const Rounding& r, int64_t at) {
  if (at >= r.total) return;
  float v[kEach];
  if (r.whole) {
    const float4* from = reinterpret_cast<const float4*>(r.from + at);
    const float4 low = from[0], high = from[1];
    v[0] = low.x, v[1] = low.y, v[2] = low.z, v[3] = low.w;
    v[4] = high.x, v[5] = high.y, v[6] = high.z, v[7] = high.w;
  } else {
    const int64_t i = at / r.stride, j = at % r.stride;
#pragma unroll
    for (int e = 0; e < kEach; ++e) v[e] = j + e < r.columns ? r.from[i * r.columns + j + e] : 0;
  }
  union {
    __nv_bfloat162 pairs[kEach / 2];
    uint4 bytes;
  } rounded;
#pragma unroll
  for (int e = 0; e < kEach / 2; ++e) rounded.pairs[e] = __floats2bfloat162_rn(v[2 * e], v[2 * e + 1]);
  *reinterpret_cast<uint4*>(r.to + at) = rounded.bytes;
}

/// Rounds two matrices: the first blocks_of_a blocks the first of them.
__global__ void __launch_bounds__(kRoundingThreads)
    round_matrices(Rounding a, Rounding b, int64_t blocks_of_a) {
  const int64_t block = blockIdx.x, thread = threadIdx.x;
  if (block < blocks_of_a)
    round_eight(a, (block * kRoundingThreads + thread) * kEach);
  else
    round_eight(b, ((block - blocks_of_a) * kRoundingThreads + thread) * kEach);
}

void run(const Matmul::Args<float>& x) {
  const auto [m, n, k] = x.shape;
  if (m == 0 || n == 0) return;
  if (k == 0) return cuda::fill_zero(x.c, size_t(m * n) * sizeof(float));
  const cuda::Scratch copy_a(size_t(m * aligned_stride<__nv_bfloat16>(k)) * sizeof(__nv_bfloat16));
  const cuda::Scratch copy_b(size_t(k * aligned_stride<__nv_bfloat16>(n)) * sizeof(__nv_bfloat16));
  const Rounding a = rounding_of(x.a, m, k, copy_a), b = rounding_of(x.b, k, n, copy_b);
  cuda::launch(round_matrices, dim3(unsigned(blocks_of(a) + blocks_of(b))), dim3(kRoundingThreads), 0, a, b,
               blocks_of(a));
  hopper::bf16::multiply_matrices(a.to, a.stride, b.to, b.stride, x.c, m, n, k);
}

KLAB_VARIANT(Matmul,
             {.run = run,
              .parent = "11_wgmma_tma",
              .numerics = {.unit = Unit::bf16},
              .tiles = {hopper::bf16::kDepth, hopper::persistent::kRows, hopper::bf16::kColumns},
              .expect = {.shape = {2048, 2048, 2048}, .over_parent = 2},
              .when = {{2048, 2048, 2048}, "compute capability 9.0, and tiles that only large matrices fill"},
              .supported = [](const Matmul::Shape&, const Host& host) {
                return hopper::needs_hopper(host);
              }});

}  // namespace
}  // namespace klab
