// gs_rasterize_fwd.cuda.01_thread_per_pixel: one thread per pixel.
//
// CHANGE    the naive loop, a block for each tile: every thread loads every Gaussian of the list by itself.
// EXPECT    all lanes of a warp load the same word, so a request is one sector, but there are ten of them for
//           each entry and each warp: eight warps repeat loads that one could do for all.
#include "harness/core/registrar.h"
#include "kernels/common/cuda.h"
#include "reference/gs_rasterize_fwd/gs_rasterize_fwd.h"

namespace klab {
namespace {

constexpr int kTile = 16;

__global__ void __launch_bounds__(kTile* kTile) rasterize(GsRasterizeFwd::Args<float> x, int64_t columns) {
  const int64_t n = x.shape.n, width = x.shape.width, height = x.shape.height, plane = width * height;
  const int64_t tile = blockIdx.x, column = tile % columns * kTile + threadIdx.x;
  const int64_t row = tile / columns * kTile + threadIdx.y, pixel = row * width + column;
  if (row >= height || column >= width) return;
  float T = 1, red = 0, green = 0, blue = 0;
  const int end = x.tile_begin[tile + 1];
  for (int k = x.tile_begin[tile]; k < end; ++k) {
    const int64_t g = x.id[k];
    const float dx = x.mean[g] - (float(column) + 0.5F), dy = x.mean[n + g] - (float(row) + 0.5F);
    const float e = -0.5F * (x.conic[g] * dx * dx + x.conic[2 * n + g] * dy * dy) - x.conic[n + g] * dx * dy;
    const float alpha = fminf(0.99F, x.opacity[g] * expf(e));
    if (alpha < 1.0F / 255) continue;
    const float left = T * (1 - alpha);
    if (left < 1e-4F) break;
    red += T * alpha * x.color[g];
    green += T * alpha * x.color[n + g];
    blue += T * alpha * x.color[2 * n + g];
    T = left;
  }
  x.image[pixel] = red + T * x.background[0];
  x.image[plane + pixel] = green + T * x.background[1];
  x.image[2 * plane + pixel] = blue + T * x.background[2];
  x.transmittance[pixel] = T;
}

void run(const GsRasterizeFwd::Args<float>& x) {
  cuda::launch(rasterize, unsigned(x.shape.tiles()), dim3(kTile, kTile), 0, x, x.shape.columns());
}

KLAB_VARIANT(GsRasterizeFwd, {.run = run, .numerics = {.growth = Growth::linear}, .tiles = {kTile}});

}  // namespace
}  // namespace klab
