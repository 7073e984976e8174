// voxel_sh_narrow_fwd.cuda.01_thread_per_point: one thread per point.
//
// CHANGE    the naive loop, spread over threads; corners outside, numbers inside, each widened as it is read.
// EXPECT    as many requests as voxel_sh_fwd's first rung, but a row of bytes is one sector where its floats are four: what a
//           thread's next numbers need has come with the first.
// NUMERICS  float, sums in the order of the corners; a factor behind the sum.
#include <cstring>

#include "harness/core/registrar.h"
#include "kernels/common/cuda.h"
#include "kernels/common/sh_basis.h"
#include "kernels/common/voxels/corners.h"
#include "reference/voxel_sh_narrow_fwd/voxel_sh_narrow_fwd.h"

namespace klab {
namespace {

constexpr int kThreads = 128;

__device__ __forceinline__ float half_at(const uint16_t* p) {
  __half half;
  memcpy(static_cast<void*>(&half), p, sizeof(half));
  return __half2float(half);
}

template <int kBasis, int64_t kFormat>
__global__ void __launch_bounds__(kThreads) each(VoxelShNarrowFwd::Args<float> x) {
  const int64_t n = x.shape.n, i = int64_t(blockIdx.x) * kThreads + threadIdx.x;
  if (i >= n) return;
  const VoxelCorners at = voxel_corners(x.positions, x.links, n, x.shape.grid, i);
  float raw = 0, number[3 * kBasis + 1] = {};
  for (int c = 0; c < 8; ++c) {
    raw += at.weight[c] * (at.row[c] < 0 ? x.empty[0] : half_at(x.density + at.row[c]));
    if (at.row[c] < 0) continue;
    const int64_t row = int64_t(at.row[c]) * (3 * kBasis);
    for (int v = 0; v < 3 * kBasis; ++v) {
      if constexpr (kFormat == narrow_format::int8) {
        number[v] += at.weight[c] * float(x.bytes[row + v]);
      } else if constexpr (kFormat == narrow_format::bf16) {
        number[v] += at.weight[c] * __uint_as_float(uint32_t(x.halves[row + v]) << 16);
      } else {
        number[v] += at.weight[c] * half_at(x.halves + row + v);
      }
    }
  }
  x.raw[i] = raw;
  if constexpr (kBasis > 0) {
    float basis[9];
    sh_basis(voxel_degree(kBasis), x.directions[i], x.directions[n + i], x.directions[2 * n + i], basis);
    for (int k = 0; k < 3; ++k) {
      float sum = 0;
      for (int b = 0; b < kBasis; ++b) {
        const int v = k * kBasis + b;
        sum += basis[b] * (kFormat == narrow_format::int8 ? number[v] * x.factors[v] : number[v]);
      }
      x.rgb[k * n + i] = 1 / (1 + expf(-sum));
    }
  }
}

template <int64_t kFormat>
void launch(const VoxelShNarrowFwd::Args<float>& x) {
  const dim3 blocks(unsigned((x.shape.n + kThreads - 1) / kThreads)), threads(kThreads);
  switch (x.shape.basis) {
    case 0:
      return cuda::launch(each<0, kFormat>, blocks, threads, 0, x);
    case 1:
      return cuda::launch(each<1, kFormat>, blocks, threads, 0, x);
    case 4:
      return cuda::launch(each<4, kFormat>, blocks, threads, 0, x);
    default:
      return cuda::launch(each<9, kFormat>, blocks, threads, 0, x);
  }
}

void run(const VoxelShNarrowFwd::Args<float>& x) {
  if (x.shape.n == 0) return;
  if (x.shape.format == narrow_format::f16) return launch<narrow_format::f16>(x);
  if (x.shape.format == narrow_format::bf16) return launch<narrow_format::bf16>(x);
  launch<narrow_format::int8>(x);
}

KLAB_VARIANT(VoxelShNarrowFwd, {.run = run, .numerics = {.growth = Growth::linear}, .tiles = {kThreads}});

}  // namespace
}  // namespace klab
