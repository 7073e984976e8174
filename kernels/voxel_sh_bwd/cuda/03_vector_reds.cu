// voxel_sh_bwd.cuda.03_vector_reds: four numbers of a row by one red.
//
// CHANGE    a row of 27 numbers lies in at most 8 aligned fours, and a point has 8 rows: a lane has a four of a corner, in two
//           rounds of 32. It takes its numbers from the lanes that have them and adds them by one red.global.add of 16 bytes.
//           Ends of rows that do not fill a four are added one by one.
// EXPECT    eight requests of 27 lanes become two of 32, and six to three single ones: half of the requests, a third of the
//           lanes. L2 takes the sectors of both alike, so at least 1.2 times the parent, if its rate is that of requests up to
//           three times.
// NUMERICS  as the parent.
// NEEDS     compute capability 9.0 for the wide reds; older GPUs get single ones.
// SASS      REDG.F32x4 SHFL.IDX; no ATOM ATOMG LDL STL
#include "harness/core/registrar.h"
#include "kernels/common/cuda.h"
#include "kernels/common/cuda_red.h"
#include "kernels/common/sh_basis.h"
#include "kernels/common/voxels/corners.h"
#include "reference/voxel_sh_bwd/voxel_sh_bwd.h"

namespace klab {
namespace {

constexpr int kThreads = 128, kPoints = kThreads / 32;

/// Which of eight values a lane has, without an array that is indexed.
template <class T>
__device__ __forceinline__ T chosen(const T (&of)[8], int which) {
  T value = of[0];
#pragma unroll
  for (int c = 1; c < 8; ++c) value = which == c ? of[c] : value;
  return value;
}

__global__ void __launch_bounds__(kThreads) each(VoxelShBwd::Args<float> x) {
  const int64_t n = x.shape.n, i = int64_t(blockIdx.x) * kPoints + threadIdx.x / 32;
  const int lane = int(threadIdx.x % 32), functions = int(x.shape.basis), numbers = 3 * functions;
  if (i >= n) return;  // a whole warp
  const VoxelCorners at = voxel_corners(x.positions, x.links, n, x.shape.grid, i);
  float number = 0;
  if (lane < numbers) {
    float basis[9];
    sh_basis(voxel_degree(functions), x.directions[i], x.directions[n + i], x.directions[2 * n + i], basis);
    float own = 0;  // of the lane's harmonic, chosen without an array that is indexed
    for (int b = 0; b < 9; ++b)
      if (b < functions && lane % functions == b) own = basis[b];
    const int64_t color = lane / functions * n + i;
    const float rgb = x.rgb[color];
    number = own * (x.d_rgb[color] * (rgb * (1 - rgb)));
  }
  const int row = chosen(at.row, lane % 8);
  if (lane < 8 && row >= 0) cuda::add_to_global(x.d_density + row, chosen(at.weight, lane) * x.d_raw[i]);
#pragma unroll
  for (int round = 0; round < 2; ++round) {
    const int corner = round * 4 + lane / 8, of_corner = chosen(at.row, corner);
    const float weight = chosen(at.weight, corner);
    float* const first = x.d_coefficients + int64_t(max(of_corner, 0)) * numbers;
    const int before =
        int(reinterpret_cast<uintptr_t>(first) / sizeof(float) % 4);  // the row begins in a four
    const int begin = lane % 8 * 4 - before;
    float four[4];
#pragma unroll
    for (int e = 0; e < 4; ++e) four[e] = weight * __shfl_sync(~0U, number, (begin + e) & 31);
    if (of_corner < 0 || begin >= numbers) continue;
    if (begin >= 0 && begin + 4 <= numbers) {
      cuda::add_to_global(reinterpret_cast<float4*>(first + begin),
                          make_float4(four[0], four[1], four[2], four[3]));
      continue;
    }
#pragma unroll
    for (int e = 0; e < 4; ++e)
      if (begin + e >= 0 && begin + e < numbers) cuda::add_to_global(first + begin + e, four[e]);
  }
}

void run(const VoxelShBwd::Args<float>& x) {
  if (x.shape.n == 0) return;
  cuda::launch(each, dim3(unsigned((x.shape.n + kPoints - 1) / kPoints)), dim3(kThreads), 0, x);
}

KLAB_VARIANT(VoxelShBwd, {.run = run,
                          .parent = "02_warp_per_point",
                          .forward = "02_warp_per_point",
                          .numerics = {.growth = Growth::linear, .deterministic = false},
                          .tiles = {kPoints},
                          .expect = {.shape = {1 << 15, 32, 1 << 14, 9}, .over_parent = 1.2}});

}  // namespace
}  // namespace klab
