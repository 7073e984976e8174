// transpose.cuda.05_sixteen_bytes: four floats an instruction, in and out.
//
// CHANGE    a thread moves four neighbors of a row: 16-byte loads and stores where rows begin on 16 bytes. A
//           warp covers four rows of the tile in place of one.
// EXPECT    a quarter of the instructions for global memory, 16 sectors/request. Four floats of an output
//           row come from four rows of the tile: four loads of 4 bytes each, 0 conflicts. A little over the
//           parent where instructions were the limit, none where memory is.
// NUMERICS  moves bits.
// NEEDS     m and n that are multiples of 4, and matrices that begin on 16 bytes, for the fast path; others
//           go one float at a time.
// TRIED     see NOTES.md, cuda.05_sixteen_bytes
// SASS      LDG.128 STG.128; no LDL STL CALL
#include "harness/core/registrar.h"
#include "kernels/common/cuda.h"
#include "reference/transpose/transpose.h"

namespace klab {
namespace {

constexpr int kTile = 32, kFours = kTile / 4, kRows = 32;  // a thread moves four floats

/// Where the tile keeps its element (r, c). A warp is 8 groups of columns by 4 rows here: it writes columns
/// 4x + k of rows y, and reads rows 4x + k of columns y. Either way c ^ r takes 32 different values.
__device__ __forceinline__ int at(int r, int c) { return r * kTile + (c ^ r); }

template <bool fours>
__global__ void __launch_bounds__(kFours* kRows)
    transpose(const float* __restrict__ in, float* __restrict__ out, int64_t m, int64_t n) {
  __shared__ float tile[kTile * kTile];
  const int x = 4 * threadIdx.x, y = threadIdx.y;
  const int64_t j0 = int64_t(blockIdx.x) * kTile;
  for (int64_t i0 = int64_t(blockIdx.y) * kTile; i0 < m; i0 += int64_t(gridDim.y) * kTile) {
    if (i0 + y < m) {
      const float* from = in + (i0 + y) * n + j0 + x;
      float v[4] = {};
      if constexpr (fours) {
        if (j0 + x < n) {
          const float4 four = *reinterpret_cast<const float4*>(from);
          v[0] = four.x, v[1] = four.y, v[2] = four.z, v[3] = four.w;
        }
      } else {
        for (int k = 0; k < 4; ++k)
          if (j0 + x + k < n) v[k] = from[k];
      }
      for (int k = 0; k < 4; ++k) tile[at(y, x + k)] = v[k];
    }
    __syncthreads();
    if (j0 + y < n) {
      float* to = out + (j0 + y) * m + i0 + x;
      float v[4] = {};
      for (int k = 0; k < 4; ++k)
        if (i0 + x + k < m) v[k] = tile[at(x + k, y)];
      if constexpr (fours) {
        // As an element of float4: counted from a float's address, the compiler takes the store apart.
        if (i0 + x < m)
          reinterpret_cast<float4*>(out)[((j0 + y) * m + i0 + x) / 4] = make_float4(v[0], v[1], v[2], v[3]);
      } else {
        for (int k = 0; k < 4; ++k)
          if (i0 + x + k < m) to[k] = v[k];
      }
    }
    __syncthreads();
  }
}

void run(const Transpose::Args<float>& x) {
  const auto [m, n] = x.shape;
  if (m == 0 || n == 0) return;
  const int64_t down = (m + kTile - 1) / kTile;
  const dim3 grid(unsigned((n + kTile - 1) / kTile), unsigned(down < 65535 ? down : 65535));
  const bool fours = m % 4 == 0 && n % 4 == 0 && cuda::aligned(x.in) && cuda::aligned(x.out);
  cuda::launch(fours ? transpose<true> : transpose<false>, grid, dim3(kFours, kRows), 0, x.in, x.out, m, n);
}

KLAB_VARIANT(Transpose, {.run = run,
                         .parent = "04_swizzled",
                         .tiles = {4, kTile},
                         .expect = {.shape = {4096, 4096}, .over_parent = 1}});

}  // namespace
}  // namespace klab
