// compact.cuda.03_shared_tile: the transposed view, through a tile.
//
// CHANGE    where neighbors in memory are neighbors of an outer dimension, that one and the innermost are cut in tiles of 32 x
//           32: read along memory, written along the result, from rows of 33 floats in between, as transpose.cuda.03_padded.
//           Other views as the parent.
// EXPECT    a load has 4 sectors in place of 32. The parent's 32 are used by eight requests each, if L2 keeps them: of 16 MB it
//           does, so 134 MB of sectors at 5.5 TB/s, 25 us, where tiles take 8. At least twice the parent.
// NUMERICS  copies bits.
// NEEDS     4.1 KiB of shared memory; as the parent.
// SASS      LDG STG LDS STS; no LDL STL CALL
#include "harness/core/registrar.h"
#include "kernels/common/cuda.h"
#include "reference/compact/compact.h"

namespace klab {
namespace {

#include "kernels/compact/cuda/02_rows-inl.h"

constexpr int kTile = 32;

/// A stack of matrices [along, d2] that lie transposed in memory: element (i, k) at i + k·s2, in the result at i·row + k.
struct Stack {
  int along, d2, s2, count;  // count matrices
  int64_t row, from, to;     // distances of rows in the result, of matrices in memory and in the result
};

__global__ void __launch_bounds__(kTile* kRows)
    tiles(Stack s, const float* __restrict__ base, float* __restrict__ out) {
  __shared__ float tile[kTile][kTile + 1];
  const int x = int(threadIdx.x), k0 = int(blockIdx.x) * kTile;
  for (int m = int(blockIdx.z); m < s.count; m += int(gridDim.z))
    for (int i0 = int(blockIdx.y) * kTile; i0 < s.along; i0 += int(gridDim.y) * kTile) {
      const float* const from = base + m * s.from;
      float* const to = out + m * s.to;
#pragma unroll
      for (int y = int(threadIdx.y); y < kTile; y += kRows)
        if (k0 + y < s.d2 && i0 + x < s.along) tile[y][x] = from[int64_t(k0 + y) * s.s2 + i0 + x];
      __syncthreads();
#pragma unroll
      for (int y = int(threadIdx.y); y < kTile; y += kRows)
        if (i0 + y < s.along && k0 + x < s.d2) to[(i0 + y) * s.row + k0 + x] = tile[x][y];
      __syncthreads();  // before the next tile is written over this one
    }
}

void run(const Compact::Args<float>& x) {
  const Compact::Shape& s = x.shape;
  if (s.d0 * s.d1 * s.d2 == 0) return;
  const bool middle = s.s1 == 1 && s.d1 > 1, outer = s.s0 == 1 && s.d0 > 1;
  if (s.s2 <= 1 || s.d2 == 1 || (!middle && !outer)) {
    copy_rows(view_of(s), x.base + s.offset, x.out);
    return;
  }
  const int64_t plane = s.d1 * s.d2;
  const Stack stack = middle ? Stack{int(s.d1), int(s.d2), int(s.s2), int(s.d0), s.d2, s.s0, plane}
                             : Stack{int(s.d0), int(s.d2), int(s.s2), int(s.d1), plane, s.s1, s.d2};
  const dim3 grid((unsigned(stack.d2) + kTile - 1) / kTile, blocks(stack.along, kTile),
                  blocks(stack.count, 1));
  cuda::launch(tiles, grid, dim3(kTile, kRows), 0, stack, x.base + s.offset, x.out);
}

KLAB_VARIANT(Compact, {.run = run,
                       .parent = "02_rows",
                       .tiles = {kTile, kLanes* kEach},
                       .expect = {.shape = {16, 512, 512, 262144, 1, 512, 0}, .over_parent = 2},
                       .supported = supported});

}  // namespace
}  // namespace klab
