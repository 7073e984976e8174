// gs_rasterize_bwd.cuda.03_shared_batches: the block loads a part of the list together.
//
// CHANGE    as the forward's 02_shared_batches: 256 Gaussians at a time in shared memory, loaded once for eight warps.
// EXPECT    an eighth of the loads from global memory; the additions are those of the parent.
// NUMERICS  as the parent.
// NEEDS     10 KiB of shared memory.
#include "harness/core/registrar.h"
#include "kernels/common/cuda.h"
#include "reference/gs_rasterize_bwd/gs_rasterize_bwd.h"

namespace klab {
namespace {

constexpr int kTile = 16, kBatch = kTile * kTile;

#include "kernels/common/gaussian/02_warp_sums-inl.h"

template <class Args>
__global__ void __launch_bounds__(kBatch) walk(Args x, int64_t columns) {
  __shared__ float batch[9][kBatch];  // mean, conic, opacity, color
  __shared__ int ids[kBatch];
  const int64_t n = x.shape.n, width = x.shape.width, height = x.shape.height, plane = width * height;
  const int64_t tile = blockIdx.x, column = tile % columns * kTile + threadIdx.x;
  const int64_t row = tile / columns * kTile + threadIdx.y, pixel = row * width + column;
  const int lane = int(threadIdx.y * kTile + threadIdx.x);
  bool ended = row >= height || column >= width;
  float h[3] = {0, 0, 0}, T = 1, behind = 0;
  for (int c = 0; c < 3 && !ended; ++c) {
    h[c] = x.d_image[c * plane + pixel];
    behind += x.image[c * plane + pixel] * h[c];
  }
  const int end = x.tile_begin[tile + 1];
  for (int from = x.tile_begin[tile]; from < end; from += kBatch) {
    if (__syncthreads_and(ended)) break;  // also: no thread reads the last batch any more
    const int count = end - from < kBatch ? end - from : kBatch;
    if (lane < count) {
      const int64_t g = ids[lane] = x.id[from + lane];
      batch[0][lane] = x.mean[g], batch[1][lane] = x.mean[n + g];
      for (int j = 0; j < 3; ++j)
        batch[2 + j][lane] = x.conic[j * n + g], batch[6 + j][lane] = x.color[j * n + g];
      batch[5][lane] = x.opacity[g];
    }
    __syncthreads();
    for (int k = 0; k < count; ++k) {
      if (__all_sync(~0U, ended)) break;
      const float xx = batch[2][k], xy = batch[3][k], yy = batch[4][k];
      const float dx = batch[0][k] - (float(column) + 0.5F), dy = batch[1][k] - (float(row) + 0.5F);
      const float falloff = expf(-0.5F * (xx * dx * dx + yy * dy * dy) - xy * dx * dy);
      const float free = batch[5][k] * falloff, alpha = fminf(0.99F, free), left = T * (1 - alpha);
      const bool shows = !ended && alpha >= 1.0F / 255, takes = shows && left >= 1e-4F;
      ended = ended || (shows && !takes);
      if (!__any_sync(~0U, takes)) continue;
      float value[9] = {0, 0, 0, 0, 0, 0, 0, 0, 0};
      if (takes) {
        const float shade = batch[6][k] * h[0] + batch[7][k] * h[1] + batch[8][k] * h[2], weight = T * alpha;
        behind -= weight * shade;
        for (int c = 0; c < 3; ++c) value[c] = weight * h[c];
        if (free <= 0.99F) {
          const float d_alpha = T * shade - behind / (1 - alpha), d_e = alpha * d_alpha;
          value[3] = falloff * d_alpha;
          value[4] = -0.5F * dx * dx * d_e;
          value[5] = -dx * dy * d_e;
          value[6] = -0.5F * dy * dy * d_e;
          value[7] = -(xx * dx + xy * dy) * d_e;
          value[8] = -(yy * dy + xy * dx) * d_e;
        }
        T = left;
      }
      set_down(x, ids[k], value, lane % 32 == 0);
    }
  }
}

#include "kernels/common/gaussian/01_atomics_run-inl.h"

KLAB_VARIANT(GsRasterizeBwd, {.run = run,
                              .parent = "02_warp_sums",
                              .forward = "02_shared_batches",
                              .numerics = {.growth = Growth::linear, .deterministic = false},
                              .tiles = {kTile, kBatch}});

}  // namespace
}  // namespace klab
