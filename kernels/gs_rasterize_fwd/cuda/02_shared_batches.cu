// gs_rasterize_fwd.cuda.02_shared_batches: the block loads a part of the list together.
//
// CHANGE    256 entries at a time: thread i loads Gaussian i of the batch into shared memory, then all threads go through it
//           there. The block ends when all of its pixels have.
// EXPECT    a Gaussian is loaded once a tile, not once a warp: an eighth of the requests to global memory. Reading a word
//           that all lanes want is one wavefront.
// NUMERICS  as the parent.
// NEEDS     9 KiB of shared memory.
#include "harness/core/registrar.h"
#include "kernels/common/cuda.h"
#include "reference/gs_rasterize_fwd/gs_rasterize_fwd.h"

namespace klab {
namespace {

constexpr int kTile = 16, kBatch = kTile * kTile;

__global__ void __launch_bounds__(kBatch) rasterize(GsRasterizeFwd::Args<float> x, int64_t columns) {
  __shared__ float batch[9][kBatch];  // mean, conic, opacity, color
  const int64_t n = x.shape.n, width = x.shape.width, height = x.shape.height, plane = width * height;
  const int64_t tile = blockIdx.x, column = tile % columns * kTile + threadIdx.x;
  const int64_t row = tile / columns * kTile + threadIdx.y, pixel = row * width + column;
  const int lane = int(threadIdx.y * kTile + threadIdx.x);
  const bool inside = row < height && column < width;
  bool ended = !inside;
  float T = 1, red = 0, green = 0, blue = 0;
  const int end = x.tile_begin[tile + 1];
  for (int first = x.tile_begin[tile]; first < end; first += kBatch) {
    if (__syncthreads_and(ended)) break;  // also: no thread reads the last batch any more
    const int count = end - first < kBatch ? end - first : kBatch;
    if (lane < count) {
      const int64_t g = x.id[first + lane];
      batch[0][lane] = x.mean[g], batch[1][lane] = x.mean[n + g];
      for (int j = 0; j < 3; ++j)
        batch[2 + j][lane] = x.conic[j * n + g], batch[6 + j][lane] = x.color[j * n + g];
      batch[5][lane] = x.opacity[g];
    }
    __syncthreads();
    for (int k = 0; k < count && !ended; ++k) {
      const float dx = batch[0][k] - (float(column) + 0.5F), dy = batch[1][k] - (float(row) + 0.5F);
      const float e = -0.5F * (batch[2][k] * dx * dx + batch[4][k] * dy * dy) - batch[3][k] * dx * dy;
      const float alpha = fminf(0.99F, batch[5][k] * expf(e));
      if (alpha < 1.0F / 255) continue;
      const float left = T * (1 - alpha);
      ended = left < 1e-4F;
      if (ended) break;
      red += T * alpha * batch[6][k];
      green += T * alpha * batch[7][k];
      blue += T * alpha * batch[8][k];
      T = left;
    }
  }
  if (!inside) return;
  x.image[pixel] = red + T * x.background[0];
  x.image[plane + pixel] = green + T * x.background[1];
  x.image[2 * plane + pixel] = blue + T * x.background[2];
  x.transmittance[pixel] = T;
}

void run(const GsRasterizeFwd::Args<float>& x) {
  cuda::launch(rasterize, unsigned(x.shape.tiles()), dim3(kTile, kTile), 0, x, x.shape.columns());
}

KLAB_VARIANT(GsRasterizeFwd, {.run = run,
                              .parent = "01_thread_per_pixel",
                              .numerics = {.growth = Growth::linear},
                              .tiles = {kTile, kBatch}});

}  // namespace
}  // namespace klab
