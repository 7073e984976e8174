// gs_rasterize_bwd.cuda.05_lane_per_gaussian: a lane has a Gaussian, and the pixels pass from lane to lane.
//
// CHANGE    32 entries of a list are a warp's: each lane keeps its Gaussian and its nine sums in registers, and a pixel enters
//           at lane 0 and moves one lane a step, with T and `behind`, by shuffles (Mallick and others, "Taming 3DGS", 2024). A
//           first kernel walks as the forward and stores what each pixel has in front of every 32 entries, so warps begin
//           anywhere in a list.
// EXPECT    no sum over lanes, which is 90 of the parent's instructions where a pixel takes the Gaussian, and one red an entry
//           and number. 4,700 warps of 287 steps of 75 instructions are 101 million, 110 us of 528 issue slots at 1.75 GHz; the
//           first kernel 25 us; 11 MB of states written and read from L2, 5 us. The parent: 490,000 evaluations of 200
//           instructions and nine atomics, 106 us of issue, and as many atomics as 135,000 an us deliver: little more than the
//           parent.
// NUMERICS  sums over a tile's pixels in their order, then over tiles in whatever order they arrive.
// NEEDS     64 bytes an entry, 2 KiB a tile; 20 KiB of shared memory.
// SASS      SHFL.UP REDG.ADD.F32; no SHFL.BFLY ATOMG LDL STL CALL.div_s64
#include "harness/core/registrar.h"
#include "kernels/common/cuda.h"
#include "kernels/common/cuda_red.h"
#include "kernels/common/gaussian/patches_device.h"
#include "reference/gs_rasterize_bwd/gs_rasterize_bwd.h"

namespace klab {
namespace {

constexpr int kTile = 16, kPixels = kTile * kTile, kBatch = 256, kThreads = 128;

#include "kernels/common/gaussian/04_warp_culling-inl.h"

/// Memory between the two kernels. A bucket is 32 entries of a tile's list; those of tile t begin at bucket_of(t).
struct Buckets {
  float2*
      states;  // [buckets,256]: T and `behind` of each pixel in front of the bucket; T is 0 where the pixel has ended
  unsigned* tiles;  // [buckets]: 1 + the tile, 0: no bucket
};
__device__ __forceinline__ int64_t bucket_of(const GsRasterizeBwd::Args<float>& x, int64_t tile) {
  return x.tile_begin[tile] / 32 + tile;
}

__global__ void __launch_bounds__(kBatch) walk(GsRasterizeBwd::Args<float> x, unsigned columns, Buckets to) {
  __shared__ float batch[9][kBatch];  // mean, conic, opacity, color
  // a bit for each Gaussian that may show in the patch
  __shared__ unsigned seen[cuda::kPatches][kBatch / 32];
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
  const int begin = x.tile_begin[tile], end = x.tile_begin[tile + 1];
  for (int first = begin; first < end; first += kBatch) {
    if (__syncthreads_and(ended)) break;  // also: no thread reads the last batch any more
    const int count = end - first < kBatch ? end - first : kBatch;
    const int64_t bucket = bucket_of(x, tile) + (first - begin) / 32;
    if (32 * lane < count) to.tiles[bucket + lane] = tile + 1;
    load_batch(x, first, count, corner, batch, seen);
    __syncthreads();
    for (int word = 0; 32 * word < count; ++word) {
      to.states[(bucket + word) * kPixels + lane] = make_float2(ended ? 0 : T, behind);
      for (unsigned left_over = seen[warp][word]; left_over != 0 && !ended; left_over &= left_over - 1) {
        const int k = 32 * word + __ffs(int(left_over)) - 1;
        const float dx = batch[0][k] - (float(column) + 0.5F), dy = batch[1][k] - (float(row) + 0.5F);
        const float e = -0.5F * (batch[2][k] * dx * dx + batch[4][k] * dy * dy) - batch[3][k] * dx * dy;
        const float alpha = fminf(0.99F, batch[5][k] * expf(e));
        if (alpha < 1.0F / 255) continue;
        const float left = T * (1 - alpha);
        ended = left < 1e-4F;
        if (ended) break;
        behind -= T * alpha * (batch[6][k] * h[0] + batch[7][k] * h[1] + batch[8][k] * h[2]);
        T = left;
      }
    }
  }
}

__global__ void __launch_bounds__(kThreads)
    pass_on(GsRasterizeBwd::Args<float> x, unsigned columns, int64_t buckets, Buckets from) {
  __shared__ float2 states[kThreads / 32][kPixels];
  __shared__ float shades[kThreads / 32][3][kPixels];  // d_image
  const int64_t n = x.shape.n, width = x.shape.width, height = x.shape.height, plane = width * height;
  const int lane = int(threadIdx.x) % 32, warp = int(threadIdx.x) / 32;
  const int64_t bucket = int64_t(blockIdx.x) * (kThreads / 32) + warp;
  if (bucket >= buckets || from.tiles[bucket] == 0) return;
  const unsigned tile = from.tiles[bucket] - 1;
  const int64_t corner[2] = {int64_t(tile % columns) * kTile, int64_t(tile / columns) * kTile};
  for (int p = lane; p < kPixels; p += 32) {
    const int64_t column = corner[0] + cuda::patch_column(p), row = corner[1] + cuda::patch_row(p);
    const bool inside = row < height && column < width;
    states[warp][p] = from.states[bucket * kPixels + p];
    for (int c = 0; c < 3; ++c) shades[warp][c][p] = inside ? x.d_image[c * plane + row * width + column] : 0;
  }
  __syncwarp();
  const int64_t entry = x.tile_begin[tile] + (bucket - bucket_of(x, tile)) * 32 + lane;
  const bool mine = entry < x.tile_begin[tile + 1];
  const int64_t g = mine ? x.id[entry] : 0;
  const float mean[2] = {x.mean[g], x.mean[n + g]},
              color[3] = {x.color[g], x.color[n + g], x.color[2 * n + g]};
  const float xx = x.conic[g], xy = x.conic[n + g], yy = x.conic[2 * n + g],
              opacity = mine ? x.opacity[g] : 0;
  float value[9] = {0, 0, 0, 0, 0, 0, 0, 0, 0}, T = 0, behind = 0;
  for (int step = 0; step < kPixels + 31; ++step) {
    T = __shfl_up_sync(~0U, T, 1);
    behind = __shfl_up_sync(~0U, behind, 1);
    if (lane == 0) T = step < kPixels ? states[warp][step].x : 0, behind = states[warp][step % kPixels].y;
    if (T == 0) continue;  // ended, or no pixel
    const int p = step - lane;
    const float dx = mean[0] - (float(corner[0] + cuda::patch_column(p)) + 0.5F);
    const float dy = mean[1] - (float(corner[1] + cuda::patch_row(p)) + 0.5F);
    const float falloff = expf(-0.5F * (xx * dx * dx + yy * dy * dy) - xy * dx * dy);
    const float free = opacity * falloff, alpha = fminf(0.99F, free), left = T * (1 - alpha);
    if (alpha < 1.0F / 255) continue;
    const float weight = T * alpha, before = T;
    T = left < 1e-4F ? 0 : left;
    if (T == 0) continue;
    const float h[3] = {shades[warp][0][p], shades[warp][1][p], shades[warp][2][p]};
    const float shade = color[0] * h[0] + color[1] * h[1] + color[2] * h[2];
    behind -= weight * shade;
    for (int c = 0; c < 3; ++c) value[c] += weight * h[c];
    if (free > 0.99F) continue;
    const float d_alpha = before * shade - behind / (1 - alpha), d_e = alpha * d_alpha;
    value[3] += falloff * d_alpha;
    value[4] += -0.5F * dx * dx * d_e;
    value[5] += -dx * dy * d_e;
    value[6] += -0.5F * dy * dy * d_e;
    value[7] += -(xx * dx + xy * dy) * d_e;
    value[8] += -(yy * dy + xy * dx) * d_e;
  }
  float* const to[9] = {x.d_color + g,         x.d_color + n + g, x.d_color + 2 * n + g,
                        x.d_opacity + g,       x.d_conic + g,     x.d_conic + n + g,
                        x.d_conic + 2 * n + g, x.d_mean + g,      x.d_mean + n + g};
  for (int j = 0; j < 9 && mine; ++j)
    if (value[j] != 0) cuda::add_to_global(to[j], value[j]);
}

void run(const GsRasterizeBwd::Args<float>& x) {
  const auto n = size_t(x.shape.n) * sizeof(float);
  cuda::fill_zero(x.d_mean, 2 * n);
  cuda::fill_zero(x.d_conic, 3 * n);
  cuda::fill_zero(x.d_opacity, n);
  cuda::fill_zero(x.d_color, 3 * n);
  if (x.shape.pairs == 0) return;
  const auto columns = unsigned(x.shape.columns());
  const int64_t tiles = x.shape.tiles(), buckets = x.shape.pairs / 32 + tiles;
  const cuda::Scratch scratch(size_t(buckets) * (kPixels * sizeof(float2) + sizeof(unsigned)));
  const Buckets memory{scratch.as<float2>(),
                       reinterpret_cast<unsigned*>(scratch.as<float2>() + buckets * kPixels)};
  cuda::fill_zero(memory.tiles, size_t(buckets) * sizeof(unsigned));
  cuda::launch(walk, unsigned(tiles), kBatch, 0, x, columns, memory);
  cuda::launch(pass_on, unsigned((buckets + kThreads / 32 - 1) / (kThreads / 32)), kThreads, 0, x, columns,
               buckets, memory);
}

KLAB_VARIANT(GsRasterizeBwd, {.run = run,
                              .parent = "04_warp_culling",
                              .forward = "03_warp_culling",
                              .numerics = {.growth = Growth::linear, .deterministic = false},
                              .tiles = {kTile, 32, kBatch},
                              .expect = {.shape = {50000, 150000, 400, 400}, .over_parent = 1.1}});

}  // namespace
}  // namespace klab
