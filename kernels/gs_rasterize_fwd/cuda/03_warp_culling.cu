// gs_rasterize_fwd.cuda.03_warp_culling: a warp evaluates only what may show in its patch.
//
// CHANGE    a warp has a patch of 8x4 pixels. The thread that loads a Gaussian finds out in which of the eight patches it may
//           reach 1/255 (kernels/common/gaussian/patches_device.h); ballots keep a bit for each patch and Gaussian, and a warp
//           goes through the bits of its patch.
// EXPECT    of 38 million pairs of pixel and entry a quarter shows. A warp evaluates an entry that shows in any of its 32
//           pixels: some 40 % of 1.2 million, at 42 instructions 20 million, 22 us on 528 issue slots at 1.75 GHz, where the
//           parent needs 48. A test of 8 patches is 200 instructions for 32 entries at once: 1 million.
// NUMERICS  as the parent.
// NEEDS     9.25 KiB of shared memory.
// SASS      LDS; no LDL STL CALL.div_s64 CALL.div_u64
#include "harness/core/registrar.h"
#include "kernels/common/cuda.h"
#include "kernels/common/gaussian/patches_device.h"
#include "reference/gs_rasterize_fwd/gs_rasterize_fwd.h"

namespace klab {
namespace {

constexpr int kTile = 16, kBatch = kTile * kTile;

#include "kernels/common/gaussian/04_warp_culling-inl.h"

__global__ void __launch_bounds__(kBatch) rasterize(GsRasterizeFwd::Args<float> x, unsigned columns) {
  __shared__ float batch[9][kBatch];  // mean, conic, opacity, color
  // a bit for each Gaussian that may show in the patch
  __shared__ unsigned seen[cuda::kPatches][kBatch / 32];
  const int64_t width = x.shape.width, height = x.shape.height, plane = width * height;
  const int lane = int(threadIdx.x), warp = lane / 32;
  const unsigned tile = blockIdx.x;
  const int64_t corner[2] = {int64_t(tile % columns) * kTile, int64_t(tile / columns) * kTile};
  const int64_t column = corner[0] + cuda::patch_column(lane);
  const int64_t row = corner[1] + cuda::patch_row(lane), pixel = row * width + column;
  const bool inside = row < height && column < width;
  bool ended = !inside;
  float T = 1, red = 0, green = 0, blue = 0;
  const int end = x.tile_begin[tile + 1];
  for (int first = x.tile_begin[tile]; first < end; first += kBatch) {
    if (__syncthreads_and(ended)) break;  // also: no thread reads the last batch any more
    const int count = end - first < kBatch ? end - first : kBatch;
    load_batch(x, first, count, corner, batch, seen);
    __syncthreads();
    for (int word = 0; word < kBatch / 32 && !ended; ++word)
      for (unsigned left_over = seen[warp][word]; left_over != 0 && !ended; left_over &= left_over - 1) {
        const int k = 32 * word + __ffs(int(left_over)) - 1;
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
  cuda::launch(rasterize, unsigned(x.shape.tiles()), kBatch, 0, x, unsigned(x.shape.columns()));
}

KLAB_VARIANT(GsRasterizeFwd, {.run = run,
                              .parent = "02_shared_batches",
                              .numerics = {.growth = Growth::linear},
                              .tiles = {kTile, kBatch},
                              .expect = {.shape = {50000, 150000, 400, 400}, .over_parent = 1.5}});

}  // namespace
}  // namespace klab
