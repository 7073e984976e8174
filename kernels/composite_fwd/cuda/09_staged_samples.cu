// composite_fwd.cuda.09_staged_samples: 01_serial with its samples staged in shared memory, and nothing else.
//
// CHANGE    the rays of a block follow each other in memory. The block brings their samples piece by piece, a lane an
//           element; then each thread adds up its own ray from shared memory, sample by sample as the parent.
// EXPECT    requests of global memory are whole lines, a fraction of the parent's sectors. Lanes read shared memory at
//           the places of 32 rays, some of them in one bank, and a thread waits while the others' samples are brought; a
//           block also brings what lies behind opaque samples. A claim says 1.3 to 1.8; at least 1.3 times as fast.
// NUMERICS  as the parent.
// NEEDS     12 KB of shared memory.
// SASS      LDG STG LDS STS; no SHFL LDL STL CALL
#include "harness/core/registrar.h"
#include "kernels/common/cuda.h"
#include "reference/composite_fwd/composite_fwd.h"

namespace klab {
namespace {

constexpr int kThreads = 128;
constexpr int64_t kPiece = 512;  // samples in shared memory

__global__ void __launch_bounds__(kThreads)
    composite(int64_t rays, int64_t samples, const int32_t* __restrict__ ray_begin,
              const float* __restrict__ density_raw, const float* __restrict__ rgb,
              const float* __restrict__ delta, const float* __restrict__ t,
              const float* __restrict__ background, float* __restrict__ color, float* __restrict__ opacity,
              float* __restrict__ depth) {
  __shared__ float staged[6][kPiece];  // density, length, red, green, blue, distance
  const int thread = int(threadIdx.x);
  const int64_t first = int64_t(blockIdx.x) * kThreads, r = first + thread;
  const int64_t begin = ray_begin[min(r, rays)], end = ray_begin[min(r + 1, rays)];
  const int64_t last = ray_begin[min(first + kThreads, rays)];
  constexpr float kStop = float(CompositeFwd::stop);
  float transmittance = 1, red = 0, green = 0, blue = 0, opaque = 0, far = 0;
  for (int64_t piece = ray_begin[first]; piece < last; piece += kPiece) {
    const int64_t behind = min(piece + kPiece, last);
    for (int64_t i = piece + thread; i < behind; i += kThreads) {
      const int64_t k = i - piece;
      staged[0][k] = density_raw[i];
      staged[1][k] = delta[i];
      for (int c = 0; c < 3; ++c) staged[2 + c][k] = rgb[c * samples + i];
      staged[5][k] = t[i];
    }
    __syncthreads();
    for (int64_t i = max(begin, piece); i < min(end, behind) && transmittance >= kStop; ++i) {
      const int64_t k = i - piece;
      const float through = expf(-expf(staged[0][k]) * staged[1][k]);
      const float weight = transmittance * (1 - through);
      red += weight * staged[2][k];
      green += weight * staged[3][k];
      blue += weight * staged[4][k];
      opaque += weight;
      far += weight * staged[5][k];
      transmittance *= through;
    }
    __syncthreads();  // all have read before the next piece is written
  }
  if (r >= rays) return;
  color[r] = red + transmittance * background[r];
  color[rays + r] = green + transmittance * background[rays + r];
  color[2 * rays + r] = blue + transmittance * background[2 * rays + r];
  opacity[r] = opaque;
  depth[r] = far;
}

void run(const CompositeFwd::Args<float>& x) {
  if (x.shape.rays == 0) return;
  const auto blocks = unsigned((x.shape.rays + kThreads - 1) / kThreads);
  cuda::launch(composite, dim3(blocks), dim3(kThreads), 0, x.shape.rays, x.shape.samples, x.ray_begin,
               x.density_raw, x.rgb, x.delta, x.t, x.background, x.color, x.opacity, x.depth);
}

KLAB_VARIANT(CompositeFwd,
             {.run = run,
              .parent = "01_serial",
              .numerics = {.growth = Growth::linear},
              .tiles = {kThreads},
              .expect = {.shape = {8192, 1 << 18}, .over_parent = 1.3},
              .when = {{8192, 1 << 18}, "the claim on shared memory, without any other change"}});

}  // namespace
}  // namespace klab
