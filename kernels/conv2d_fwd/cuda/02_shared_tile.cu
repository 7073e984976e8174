// conv2d_fwd.cuda.02_shared_tile: a tile of the picture with its halo, for several output channels.
//
// CHANGE    a block makes 8 x 32 outputs of 8 channels. Channel by channel of the input it brings to shared memory the pixels
//           that these outputs see, rows and columns beyond the tile (the halo) and zeros beyond the image, and the weights.
// EXPECT    a pixel is fetched once for r·s taps and 8 channels: loads of x fall to about (8 + r)·(32 + s)/256 for each output
//           and input channel, an eighth of that for each channel of the output. Shared memory is read once for 8
//           multiply-adds and for the weights, which all threads want at once. With stride 2 lanes read every second bank:
//           one conflict for each request.
// NUMERICS  float accumulator that begins with the bias, one chain of c·r·s additions.
// NEEDS     shared memory for the tile and its weights, 48 KB at most; both layouts.
#include "harness/core/registrar.h"
#include "kernels/common/cuda.h"
#include "reference/conv2d_fwd/conv2d_fwd.h"

namespace klab {
namespace {

constexpr int kAcross = 32, kDown = 8, kThreads = kAcross * kDown;
constexpr int kChannels = 8;

int64_t tile_rows(const Conv2dShape& s) { return (kDown - 1) * s.stride_y + (s.r - 1) * s.dilation_y + 1; }
int64_t tile_columns(const Conv2dShape& s) {
  return (kAcross - 1) * s.stride_x + (s.s - 1) * s.dilation_x + 1;
}
int64_t shared_floats(const Conv2dShape& s) { return tile_rows(s) * tile_columns(s) + kChannels * s.taps(); }

__global__ void __launch_bounds__(kThreads)
    outputs(Conv2dShape s, const float* __restrict__ x, const float* __restrict__ w,
            const float* __restrict__ b, float* __restrict__ y, int rows, int columns) {
  KLAB_DYNAMIC_SHARED(float, tile);  // [rows][columns], then weights [taps][kChannels]
  float* const weights = tile + rows * columns;
  const int64_t oh = s.oh(), ow = s.ow();
  const int64_t across = (ow + kAcross - 1) / kAcross, down = (oh + kDown - 1) / kDown;
  const int64_t panels = (s.k + kChannels - 1) / kChannels;
  int64_t block = blockIdx.x;
  const int64_t j0 = block % across * kAcross, i0 = (block /= across) % down * kDown;
  const int64_t k0 = (block /= down) % panels * kChannels, g = (block /= panels) % s.groups,
                image = block / s.groups;
  const int lane = int(threadIdx.x) % kAcross, line = int(threadIdx.x) / kAcross;
  float sums[kChannels];
#pragma unroll
  for (int k = 0; k < kChannels; ++k) sums[k] = k0 + k < s.k ? b[g * s.k + k0 + k] : 0;
  for (int64_t c = 0; c < s.c; ++c) {
    __syncthreads();  // all have read the tile before
    for (int e = int(threadIdx.x); e < rows * columns; e += kThreads) {
      const int64_t row = i0 * s.stride_y - s.pad_y + e / columns,
                    column = j0 * s.stride_x - s.pad_x + e % columns;
      const bool inside = row >= 0 && row < s.h && column >= 0 && column < s.w;
      tile[e] = inside ? x[s.x_at(image, g * s.c + c, row, column)] : 0;
    }
    for (int e = int(threadIdx.x); e < int(s.taps()) * kChannels; e += kThreads) {
      const int64_t k = k0 + e % kChannels;
      weights[e] = k < s.k ? w[((g * s.k + k) * s.c + c) * s.taps() + e / kChannels] : 0;
    }
    __syncthreads();
    const float* from = tile + line * int(s.stride_y) * columns + lane * int(s.stride_x);
    for (int u = 0; u < int(s.r); ++u)
      for (int v = 0; v < int(s.s); ++v) {
        const float pixel = from[u * int(s.dilation_y) * columns + v * int(s.dilation_x)];
        const float* of_tap = weights + (u * int(s.s) + v) * kChannels;
#pragma unroll
        for (int k = 0; k < kChannels; ++k) sums[k] += of_tap[k] * pixel;
      }
  }
  const int64_t i = i0 + line, j = j0 + lane;
  if (i >= oh || j >= ow) return;
#pragma unroll
  for (int k = 0; k < kChannels; ++k)
    if (k0 + k < s.k) y[s.y_at(image, g * s.k + k0 + k, i, j)] = sums[k];
}

void run(const Conv2dFwd::Args<float>& x) {
  const Conv2dShape& s = x.shape;
  if (s.n * s.k == 0) return;
  const int64_t across = (s.ow() + kAcross - 1) / kAcross, down = (s.oh() + kDown - 1) / kDown;
  const int64_t blocks = across * down * ((s.k + kChannels - 1) / kChannels) * s.groups * s.n;
  cuda::launch(outputs, dim3(unsigned(blocks)), dim3(kThreads), size_t(shared_floats(s)) * sizeof(float), s,
               x.x, x.w, x.b, x.y, int(tile_rows(s)), int(tile_columns(s)));
}

std::string supported(const Conv2dShape& s, const Host&) {
  return shared_floats(s) * int64_t(sizeof(float)) <= 48 * 1024
             ? ""
             : "the tile with its halo takes more than 48 KB";
}

KLAB_VARIANT(Conv2dFwd,
             {.run = run, .parent = "01_naive", .tiles = {kChannels, kAcross}, .supported = supported});

}  // namespace
}  // namespace klab
