// gs_rasterize_bwd.cuda.04_warp_culling: a warp evaluates only what may show in its patch.
//
// CHANGE    as the forward's 03_warp_culling: a warp has 8x4 pixels, and goes through the bits of the Gaussians that may reach
//           1/255 there.
// EXPECT    a warp has 16x2 pixels in the parent and evaluates 1.2 million entries; of patches of 8x4 some 40 % see an entry,
//           and fewer warps take one that shows: fewer sums over lanes, and fewer atomics. At least 1.5 times the parent.
// NUMERICS  as the parent.
// NEEDS     10.25 KiB of shared memory.
// SASS      SHFL.BFLY REDG.ADD.F32; no ATOMG LDL STL CALL.div_s64
#include "harness/core/registrar.h"
#include "kernels/common/cuda.h"
#include "kernels/common/gaussian/patches_device.h"
#include "reference/gs_rasterize_bwd/gs_rasterize_bwd.h"

namespace klab {
namespace {

constexpr int kTile = 16, kBatch = kTile * kTile;

#include "kernels/common/gaussian/02_warp_sums-inl.h"
#include "kernels/common/gaussian/04_warp_culling-inl.h"

__global__ void __launch_bounds__(kBatch) walk(GsRasterizeBwd::Args<float> x, unsigned columns) {
  __shared__ float batch[9][kBatch];  // mean, conic, opacity, color
  // a bit for each Gaussian that may show in the patch
  __shared__ unsigned seen[cuda::kPatches][kBatch / 32];
  __shared__ int ids[kBatch];
  const int64_t width = x.shape.width, height = x.shape.height, plane = width * height;
  const int lane = int(threadIdx.x), warp = lane / 32;
  const unsigned tile = blockIdx.x;
  const int64_t corner[2] = {int64_t(tile % columns) * kTile, int64_t(tile / columns) * kTile};
  const int64_t column = corner[0] + cuda::patch_column(lane);
  const int64_t row = corner[1] + cuda::patch_row(lane), pixel = row * width + column;
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
    if (lane < count) ids[lane] = x.id[from + lane];
    load_batch(x, from, count, corner, batch, seen);
    __syncthreads();
    for (int word = 0; word < kBatch / 32; ++word)
      for (unsigned left_over = seen[warp][word]; left_over != 0; left_over &= left_over - 1) {
        if (__all_sync(~0U, ended)) break;
        const int k = 32 * word + __ffs(int(left_over)) - 1;
        const float xx = batch[2][k], xy = batch[3][k], yy = batch[4][k];
        const float dx = batch[0][k] - (float(column) + 0.5F), dy = batch[1][k] - (float(row) + 0.5F);
        const float falloff = expf(-0.5F * (xx * dx * dx + yy * dy * dy) - xy * dx * dy);
        const float free = batch[5][k] * falloff, alpha = fminf(0.99F, free), left = T * (1 - alpha);
        const bool shows = !ended && alpha >= 1.0F / 255, takes = shows && left >= 1e-4F;
        ended = ended || (shows && !takes);
        if (!__any_sync(~0U, takes)) continue;
        float value[9] = {0, 0, 0, 0, 0, 0, 0, 0, 0};
        if (takes) {
          const float shade = batch[6][k] * h[0] + batch[7][k] * h[1] + batch[8][k] * h[2],
                      weight = T * alpha;
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

void run(const GsRasterizeBwd::Args<float>& x) {
  const auto n = size_t(x.shape.n) * sizeof(float);
  cuda::fill_zero(x.d_mean, 2 * n);
  cuda::fill_zero(x.d_conic, 3 * n);
  cuda::fill_zero(x.d_opacity, n);
  cuda::fill_zero(x.d_color, 3 * n);
  cuda::launch(walk, unsigned(x.shape.tiles()), kBatch, 0, x, unsigned(x.shape.columns()));
}

KLAB_VARIANT(GsRasterizeBwd, {.run = run,
                              .parent = "03_shared_batches",
                              .forward = "03_warp_culling",
                              .numerics = {.growth = Growth::linear, .deterministic = false},
                              .tiles = {kTile, kBatch},
                              .expect = {.shape = {50000, 150000, 400, 400}, .over_parent = 1.5}});

}  // namespace
}  // namespace klab
