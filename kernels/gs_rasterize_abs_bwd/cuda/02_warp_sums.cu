// gs_rasterize_abs_bwd.cuda.02_warp_sums: the lanes of a warp agree before anything is added in memory.
//
// CHANGE    all lanes stay together on one Gaussian; eleven values are summed over the warp by shuffles, and lane 0 alone adds them.
//           A pixel's absolute values are taken before the sum.
// EXPECT    a thirty-second of the atomic additions, for eleven sums of five shuffles.
// NUMERICS  sums over a warp in a tree, then in whatever order they arrive.
#include "harness/core/registrar.h"
#include "kernels/common/cuda.h"
#include "reference/gs_rasterize_abs_bwd/gs_rasterize_abs_bwd.h"

namespace klab {
namespace {

constexpr int kTile = 16;

/// Adds eleven values over the warp to where they belong.
__device__ void set_down(const GsRasterizeAbsBwd::Args<float>& x, int64_t g, const float (&value)[11],
                         bool first) {
  const int64_t n = x.shape.n;
  float* const to[11] = {x.d_color + g,    x.d_color + n + g, x.d_color + 2 * n + g, x.d_opacity + g,
                         x.d_conic + g,    x.d_conic + n + g, x.d_conic + 2 * n + g, x.d_mean + g,
                         x.d_mean + n + g, x.pull + g,        x.pull + n + g};
  for (int j = 0; j < 11; ++j) {
    float sum = value[j];
    for (int by = 16; by > 0; by /= 2) sum += __shfl_xor_sync(~0U, sum, by);
    if (first) atomicAdd(to[j], sum);
  }
}

__global__ void __launch_bounds__(kTile* kTile) walk(GsRasterizeAbsBwd::Args<float> x, int64_t columns) {
  const int64_t n = x.shape.n, width = x.shape.width, height = x.shape.height, plane = width * height;
  const int64_t tile = blockIdx.x, column = tile % columns * kTile + threadIdx.x;
  const int64_t row = tile / columns * kTile + threadIdx.y, pixel = row * width + column;
  const bool first = (threadIdx.y * kTile + threadIdx.x) % 32 == 0;
  bool ended = row >= height || column >= width;
  float h[3] = {0, 0, 0}, T = 1, behind = 0;
  for (int c = 0; c < 3 && !ended; ++c) {
    h[c] = x.d_image[c * plane + pixel];
    behind += x.image[c * plane + pixel] * h[c];
  }
  const int end = x.tile_begin[tile + 1];
  for (int k = x.tile_begin[tile]; k < end; ++k) {
    if (__all_sync(~0U, ended)) break;
    const int64_t g = x.id[k];
    const float xx = x.conic[g], xy = x.conic[n + g], yy = x.conic[2 * n + g];
    const float dx = x.mean[g] - (float(column) + 0.5F), dy = x.mean[n + g] - (float(row) + 0.5F);
    const float falloff = expf(-0.5F * (xx * dx * dx + yy * dy * dy) - xy * dx * dy);
    const float free = x.opacity[g] * falloff, alpha = fminf(0.99F, free), left = T * (1 - alpha);
    const bool shows = !ended && alpha >= 1.0F / 255, takes = shows && left >= 1e-4F;
    ended = ended || (shows && !takes);
    if (!__any_sync(~0U, takes)) continue;
    float value[11] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0};
    if (takes) {
      const float shade = x.color[g] * h[0] + x.color[n + g] * h[1] + x.color[2 * n + g] * h[2];
      const float weight = T * alpha;
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
        value[9] = fabsf(value[7]);
        value[10] = fabsf(value[8]);
      }
      T = left;
    }
    set_down(x, g, value, first);
  }
}

#include "kernels/gs_rasterize_abs_bwd/cuda/01_atomics_run-inl.h"

KLAB_VARIANT(GsRasterizeAbsBwd, {.run = run,
                                 .parent = "01_atomics",
                                 .forward = "01_thread_per_pixel",
                                 .numerics = {.growth = Growth::linear, .deterministic = false},
                                 .tiles = {kTile, 32}});

}  // namespace
}  // namespace klab
