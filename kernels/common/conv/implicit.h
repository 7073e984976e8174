// A convolution's sums on tensor cores without the matrix of windows: rounded copies with channels last, whose chunks of 8
// channels asynchronous copies fetch from where a tap reads them.
//
//   forward  y[k, pixel]    = Σ over taps and c of w[tap][k][c] · x[where the tap reads][c]
//   input    d_x[c, pixel]  = Σ over taps and k of w[tap][k][c] · d_y[the output that the tap served][k]
//   weights  d_w[tap][k, c] = Σ over outputs of d_y[output][k] · x[where the tap reads][c]
//
// Each is a product of tiles of 64 x 64; rows are channels, and the operand on the right is found by its pixels. Padding,
// strides and dilation decide where a row of 8 chunks lies, and whether it is zeros.
//
// A sum is cut into parts where there are fewer tiles than blocks that fill the device. Each block writes its part as its
// threads hold it, and the last one of a tile adds them up in their order.
#pragma once

#include <algorithm>

#include "kernels/common/cuda.h"
#include "kernels/common/last_block.h"
#include "kernels/common/mma.h"
#include "reference/conv2d_fwd/conv2d_fwd.h"

namespace klab::implicit {
namespace {

constexpr int kTile = 64, kDepth = 64, kStages = 3;
constexpr int kThreads = 128, kWarpSide = 32;
constexpr int kDown = kWarpSide / 16, kAcross = kWarpSide / 8;  // products of a warp
constexpr int kEach = 8;                                        // elements of a chunk, 16 bytes
constexpr int kLines = kThreads / (kDepth / kEach);  // rows of a tile that the threads fetch at a time
constexpr int kRows = kTile / kLines;                // rows that a thread fetches

/// The sizes in 32 bits, and the channels of a row of a copy: whole chunks.
struct Sizes {
  int n, groups, c, k, h, w, oh, ow, r, s;
  int stride_y, stride_x, pad_y, pad_x, dilation_y, dilation_x, nhwc;
  int c_row, k_row;

  constexpr int taps() const { return r * s; }
  constexpr int inputs() const { return n * h * w; }  // pixels of all images
  constexpr int outputs() const { return n * oh * ow; }
};

inline int whole_chunks(int64_t channels) { return int((channels + kEach - 1) / kEach * kEach); }

inline Sizes sizes_of(const Conv2dShape& s) {
  return {.n = int(s.n),
          .groups = int(s.groups),
          .c = int(s.c),
          .k = int(s.k),
          .h = int(s.h),
          .w = int(s.w),
          .oh = int(s.oh()),
          .ow = int(s.ow()),
          .r = int(s.r),
          .s = int(s.s),
          .stride_y = int(s.stride_y),
          .stride_x = int(s.stride_x),
          .pad_y = int(s.pad_y),
          .pad_x = int(s.pad_x),
          .dilation_y = int(s.dilation_y),
          .dilation_x = int(s.dilation_x),
          .nhwc = int(s.nhwc),
          .c_row = whole_chunks(s.c),
          .k_row = whole_chunks(s.k)};
}

/// "" where every index of a tensor and of a copy fits 32 bits.
inline std::string fits_32_bits(const Conv2dShape& s) {
  const auto row = [](int64_t channels) { return double(channels + kEach); };
  const double g = double(s.groups);
  const double most =
      std::max({double(s.n) * double(s.h + 2 * s.pad_y) * double(s.w + 2 * s.pad_x) * g * row(s.c),
                double(s.n) * double(s.oh()) * double(s.ow()) * g * row(s.k),
                g * double(s.k + kTile) * double(s.taps()) * row(s.c), double(s.stride_y), double(s.stride_x),
                double(s.dilation_y), double(s.dilation_x)});
  return most < 2e9 ? "" : "more elements than 32 bits count";
}

// ---- Rounded copies

/// A tensor [a, b, channels, positions] in any order in memory, and its copy, rows of channels at (a, b, position).
struct Turn {
  const float* from;
  __nv_bfloat16* to;
  int a, b, channels, positions, row;               // row: channels in the copy
  int from_a, from_b, from_channel, from_position;  // distances in elements
  int to_a, to_b, to_position;                      // distances in rows
};

constexpr int kTurnThreads = 256, kTurned = 32;  // threads, and positions of a block; 64 channels

inline int blocks_of(const Turn& t) {
  return t.a * t.b * ((t.row + kTile - 1) / kTile) * ((t.positions + kTurned - 1) / kTurned);
}

/// Images' pixels: copy[group][image][pixel][channel].
inline Turn turn_pixels(const Sizes& z, const float* from, __nv_bfloat16* to, int channels, int row,
                        int plane) {
  const int all = z.groups * channels;
  Turn t{
      .from = from, .to = to, .a = z.n, .b = z.groups, .channels = channels, .positions = plane, .row = row};
  t.from_a = all * plane;
  t.from_b = z.nhwc != 0 ? channels : channels * plane;
  t.from_channel = z.nhwc != 0 ? 1 : plane;
  t.from_position = z.nhwc != 0 ? all : 1;
  t.to_a = plane;
  t.to_b = z.n * plane;
  t.to_position = 1;
  return t;
}
inline Turn turn_x(const Sizes& z, const float* x, __nv_bfloat16* to) {
  return turn_pixels(z, x, to, z.c, z.c_row, z.h * z.w);
}
inline Turn turn_d_y(const Sizes& z, const float* d_y, __nv_bfloat16* to) {
  return turn_pixels(z, d_y, to, z.k, z.k_row, z.oh * z.ow);
}
/// copy[group][tap][k][c]
inline Turn turn_w(const Sizes& z, const float* w, __nv_bfloat16* to) {
  const int taps = z.taps();
  return {.from = w,
          .to = to,
          .a = z.groups,
          .b = z.k,
          .channels = z.c,
          .positions = taps,
          .row = z.c_row,
          .from_a = z.k * z.c * taps,
          .from_b = z.c * taps,
          .from_channel = taps,
          .from_position = 1,
          .to_a = taps * z.k,
          .to_b = 1,
          .to_position = z.k};
}

/// 64 channels at 32 positions, through shared memory: read along the memory, written along the channels.
__device__ __forceinline__ void turn_tile(const Turn& t, float (&tile)[kTile][kTurned + 1], int block) {
  const int thread = int(threadIdx.x);
  const int across = (t.positions + kTurned - 1) / kTurned, panels = (t.row + kTile - 1) / kTile;
  const int p0 = block % across * kTurned, c0 = block / across % panels * kTile;
  const int b = block / across / panels % t.b, a = block / across / panels / t.b;
  const int wide = min(kTurned, t.positions - p0), deep = min(kTile, t.channels - c0);
  const float* from = t.from + a * t.from_a + b * t.from_b + c0 * t.from_channel + p0 * t.from_position;
  const bool along_channels = t.from_channel == 1;
  const auto channel_of = [&](int e) { return along_channels ? e % kTile : e / wide; };
  const auto position_of = [&](int e) { return along_channels ? e / kTile : e % wide; };
  constexpr int each = kTile * kTurned / kTurnThreads;
  float values[each];  // all loads on their way before the first is stored
#pragma unroll
  for (int i = 0; i < each; ++i) {
    const int e = thread + i * kTurnThreads, channel = channel_of(e);
    values[i] = e < kTile * wide && channel < deep
                    ? from[channel * t.from_channel + position_of(e) * t.from_position]
                    : 0.0F;
  }
#pragma unroll
  for (int i = 0; i < each; ++i) {
    const int e = thread + i * kTurnThreads;
    if (e < kTile * wide) tile[channel_of(e)][position_of(e)] = values[i];
  }
  __syncthreads();
  const int chunk = thread % (kTile / kEach) * kEach, p = thread / (kTile / kEach);
  if (p >= wide || c0 + chunk >= t.row) return;
  union {
    __nv_bfloat162 pairs[kEach / 2];
    uint4 bytes;
  } rounded;
#pragma unroll
  for (int e = 0; e < kEach / 2; ++e)
    rounded.pairs[e] = __floats2bfloat162_rn(tile[chunk + 2 * e][p], tile[chunk + 2 * e + 1][p]);
  const int row = a * t.to_a + b * t.to_b + (p0 + p) * t.to_position;
  *reinterpret_cast<uint4*>(t.to + row * t.row + c0 + chunk) = rounded.bytes;
}

/// All copies of an op, and zeros for the blocks that count arrivals.
struct Turns {
  Turn w, x, d_y;  // d_y: none where it has no blocks
  int blocks_w, blocks_x, blocks_d_y;
  unsigned* arrivals;
  int counters;
};

__global__ void __launch_bounds__(kTurnThreads) round_copies(Turns t) {
  __shared__ float tile[kTile][kTurned + 1];
  const int at = int(blockIdx.x);
  for (int e = at * kTurnThreads + int(threadIdx.x); e < t.counters; e += int(gridDim.x) * kTurnThreads)
    t.arrivals[e] = 0;
  if (at < t.blocks_w)
    turn_tile(t.w, tile, at);
  else if (at < t.blocks_w + t.blocks_x)
    turn_tile(t.x, tile, at - t.blocks_w);
  else if (at < t.blocks_w + t.blocks_x + t.blocks_d_y)
    turn_tile(t.d_y, tile, at - t.blocks_w - t.blocks_x);
}

inline void round_all(Turns t) {
  t.blocks_w = blocks_of(t.w);
  t.blocks_x = blocks_of(t.x);
  t.blocks_d_y = t.d_y.from == nullptr ? 0 : blocks_of(t.d_y);
  const int blocks = std::max(1, t.blocks_w + t.blocks_x + t.blocks_d_y);
  cuda::launch(round_copies, dim3(unsigned(blocks)), dim3(kTurnThreads), 0, t);
}

// ---- Products

enum class Sum { forward, input, weights };

/// How a sum's tiles are shared out to blocks.
struct Split {
  int row_tiles, column_tiles, steps;  // of kDepth
  int tiles, parts, each;              // parts of a tile's sum, and steps of a part
  int blocks() const { return tiles * parts; }
  size_t part_bytes() const { return parts > 1 ? size_t(blocks()) * kTile * kTile * sizeof(float) : 0; }
};

/// Enough parts for two blocks on each multiprocessor, of at least 4 steps.
inline Split split_of(const Sizes& z, Sum sum) {
  const auto whole = [](int size, int tile) { return (size + tile - 1) / tile; };
  Split p{};
  p.row_tiles = whole(sum == Sum::input ? z.c : z.k, kTile);
  p.column_tiles = sum == Sum::forward ? whole(z.outputs(), kTile)
                   : sum == Sum::input ? whole(z.inputs(), kTile)
                                       : whole(z.c, kTile);
  p.steps = sum == Sum::forward ? z.taps() * whole(z.c, kDepth)
            : sum == Sum::input ? z.taps() * whole(z.k, kDepth)
                                : whole(z.outputs(), kDepth);
  p.tiles = z.groups * p.row_tiles * p.column_tiles * (sum == Sum::weights ? z.taps() : 1);
  const int blocks = 2 * cuda::device().multiprocessors;
  const int parts = std::clamp(whole(blocks, std::max(1, p.tiles)), 1, std::max(1, p.steps / 4));
  p.each = std::max(1, whole(p.steps, parts));
  p.parts = std::max(1, whole(p.steps, p.each));
  return p;
}

struct Copies {
  const __nv_bfloat16 *w, *x, *d_y;
};

struct Tiles {
  __nv_bfloat16 left[kTile * kDepth], right[kTile * kDepth];
};

/// Chunks of 8 elements are exchanged within a row, so that 8 rows at one chunk are in different banks.
__device__ __forceinline__ int at(int row, int chunk) { return row * kDepth + (chunk ^ (row & 7)) * kEach; }

/// Fetches the tiles of one step after the other. A thread has one chunk of four rows of both.
template <Sum sum>
struct Fetch {
  const Sizes& z;
  const Copies& copies;
  int group, row0, column0, line, chunk;
  int u, v, panel, panels;                    // the step's tap, and which channels of it
  int pixel, images_on, rows_on, columns_on;  // weights: the step's first output; kDepth outputs further
  int image[kRows], y[kRows], x[kRows];       // of the pixels of the right operand

  __device__ __forceinline__ Fetch(const Sizes& sizes, const Copies& of, int g, int tap, int first_row,
                                   int first_column, int step)
      : z(sizes), copies(of), group(g), row0(first_row), column0(first_column) {
    line = int(threadIdx.x) / (kDepth / kEach);
    chunk = int(threadIdx.x) % (kDepth / kEach) * kEach;
    panels = 1;
    if constexpr (sum == Sum::weights) {
      pixel = step * kDepth;
      const int plane = z.oh * z.ow, rest = kDepth % plane;
      images_on = kDepth / plane;
      rows_on = rest / z.ow;
      columns_on = rest % z.ow;
      panel = 0;
    } else {
      panels = max(1, ((sum == Sum::forward ? z.c : z.k) + kDepth - 1) / kDepth);
      panel = step % panels;
      tap = step / panels;
      pixel = column0;
    }
    u = tap / z.s;
    v = tap % z.s;
    const int rows = sum == Sum::input ? z.h : z.oh, columns = sum == Sum::input ? z.w : z.ow;
#pragma unroll
    for (int i = 0; i < kRows; ++i) {
      const int p = pixel + line + i * kLines;
      image[i] = p / (rows * columns);
      y[i] = p / columns % rows;
      x[i] = p % columns;
    }
  }

  __device__ __forceinline__ void left(__nv_bfloat16* to) const {
#pragma unroll
    for (int i = 0; i < kRows; ++i) {
      const int r = line + i * kLines;
      const __nv_bfloat16* from = sum == Sum::weights ? copies.d_y : copies.w;
      bool inside;
      if constexpr (sum == Sum::weights) {
        inside = pixel + r < z.outputs() && row0 + chunk < z.k_row;
        if (inside) from += (group * z.outputs() + pixel + r) * z.k_row + row0 + chunk;
      } else {
        const int k = (sum == Sum::forward ? row0 : panel * kDepth) + r;
        const int c = (sum == Sum::forward ? panel * kDepth : row0) + chunk;
        inside = k < z.k && c < z.c_row;
        if (inside) from += ((group * z.taps() + u * z.s + v) * z.k + k) * z.c_row + c;
      }
      cuda::copy_async_zfill<16>(&to[at(r, chunk / kEach)], from, inside ? 16 : 0);
    }
  }

  /// Whether the tap meets the tensor on the right at pixel i, and its row and column there.
  __device__ __forceinline__ bool meets(int i, int& row, int& column) const {
    if constexpr (sum == Sum::input) {
      const int down = y[i] + z.pad_y - u * z.dilation_y, right = x[i] + z.pad_x - v * z.dilation_x;
      if (down < 0 || right < 0) return false;
      row = down;
      column = right;
      if (z.stride_y > 1) {
        row = down / z.stride_y;
        if (row * z.stride_y != down) return false;
      }
      if (z.stride_x > 1) {
        column = right / z.stride_x;
        if (column * z.stride_x != right) return false;
      }
      return row < z.oh && column < z.ow;
    } else {
      row = y[i] * z.stride_y + u * z.dilation_y - z.pad_y;
      column = x[i] * z.stride_x + v * z.dilation_x - z.pad_x;
      return row >= 0 && row < z.h && column >= 0 && column < z.w;
    }
  }

  __device__ __forceinline__ void right(__nv_bfloat16* to) const {
    const int rows = sum == Sum::input ? z.oh : z.h, columns = sum == Sum::input ? z.ow : z.w;
    const int width = sum == Sum::input ? z.k_row : z.c_row;
    const int channel = (sum == Sum::weights ? column0 : panel * kDepth) + chunk;
#pragma unroll
    for (int i = 0; i < kRows; ++i) {
      const int r = line + i * kLines;
      const __nv_bfloat16* from = sum == Sum::input ? copies.d_y : copies.x;
      int row = 0, column = 0;
      const bool inside = image[i] < z.n && channel < width && meets(i, row, column);
      if (inside) from += (((group * z.n + image[i]) * rows + row) * columns + column) * width + channel;
      cuda::copy_async_zfill<16>(&to[at(r, chunk / kEach)], from, inside ? 16 : 0);
    }
  }

  /// Goes on to the next step: only sums and comparisons.
  __device__ __forceinline__ void advance() {
    if constexpr (sum == Sum::weights) {
      pixel += kDepth;
#pragma unroll
      for (int i = 0; i < kRows; ++i) {
        x[i] += columns_on;
        y[i] += rows_on;
        image[i] += images_on;
        if (x[i] >= z.ow) {
          x[i] -= z.ow;
          ++y[i];
        }
        if (y[i] >= z.oh) {
          y[i] -= z.oh;
          ++image[i];
        }
      }
    } else {
      if (++panel < panels) return;
      panel = 0;
      if (++v < z.s) return;
      v = 0;
      ++u;
    }
  }

  __device__ __forceinline__ void both(Tiles& to) {
    left(to.left);
    right(to.right);
    advance();
  }
};

using Sums = float[kDown][kAcross][4];

/// Multiplies the warp's parts of two tiles. A tile is [row][step], `along`, or [step][row], which ldmatrix transposes.
template <bool left_along, bool right_along>
__device__ __forceinline__ void multiply_tiles(Sums& sums, const Tiles& tiles, int row, int column) {
  const int lane = int(threadIdx.x) % 32;
#pragma unroll
  for (int s = 0; s < kDepth; s += 16) {
    uint32_t of_left[kDown][4], of_right[kAcross / 2][4];
#pragma unroll
    for (int r = 0; r < kDown; ++r) {
      if constexpr (left_along)
        cuda::ldmatrix_x4(of_left[r], &tiles.left[at(row + r * 16 + lane % 16, s / kEach + lane / 16)]);
      else
        cuda::ldmatrix_x4_trans(
            of_left[r], &tiles.left[at(s + lane % 8 + lane / 16 * 8, row / kEach + r * 2 + lane / 8 % 2)]);
    }
#pragma unroll
    for (int c = 0; c < kAcross / 2; ++c) {
      if constexpr (right_along)
        cuda::ldmatrix_x4(
            of_right[c],
            &tiles.right[at(column + c * 16 + lane % 8 + lane / 16 * 8, s / kEach + lane / 8 % 2)]);
      else
        cuda::ldmatrix_x4_trans(of_right[c],
                                &tiles.right[at(s + lane % 16, column / kEach + c * 2 + lane / 16)]);
    }
#pragma unroll
    for (int r = 0; r < kDown; ++r)
#pragma unroll
      for (int c = 0; c < kAcross; ++c) {
        const uint32_t pair[2] = {of_right[c / 2][c % 2 * 2], of_right[c / 2][c % 2 * 2 + 1]};
        cuda::mma_m16n8k16_bf16(sums[r][c], of_left[r], pair, sums[r][c]);
      }
  }
}

/// Writes this block's part; the last block of the tile gets the whole sum, the others get false.
__device__ __forceinline__ bool add_parts(Sums& sums, float* parts, unsigned* arrivals, int tile, int part,
                                          int count) {
  constexpr int quads = kTile * kTile / 4;
  auto* const of_tile = reinterpret_cast<float4*>(parts) + tile * count * quads + int(threadIdx.x);
#pragma unroll
  for (int q = 0; q < kDown * kAcross; ++q) {
    const float(&s)[4] = sums[q / kAcross][q % kAcross];
    of_tile[part * quads + q * kThreads] = make_float4(s[0], s[1], s[2], s[3]);
  }
  if (!cuda::is_last_block(arrivals + tile, unsigned(count))) return false;
#pragma unroll
  for (int q = 0; q < kDown * kAcross; ++q) {
    float(&s)[4] = sums[q / kAcross][q % kAcross];
    s[0] = s[1] = s[2] = s[3] = 0;
  }
  for (int other = 0; other < count; ++other)
#pragma unroll
    for (int q = 0; q < kDown * kAcross; ++q) {
      const float4 more = of_tile[other * quads + q * kThreads];
      float(&s)[4] = sums[q / kAcross][q % kAcross];
      s[0] += more.x;
      s[1] += more.y;
      s[2] += more.z;
      s[3] += more.w;
    }
  return true;
}

/// Block `block` of a sum. `bias` only for the forward.
template <Sum sum>
__device__ __forceinline__ void multiply(const Sizes& z, const Copies& copies, const Split& split,
                                         const float* __restrict__ bias, float* __restrict__ result,
                                         float* parts, unsigned* arrivals, Tiles* tiles, int block) {
  constexpr bool left_along = sum == Sum::forward, right_along = sum != Sum::weights;
  const int warp = int(threadIdx.x) / 32, lane = int(threadIdx.x) % 32;
  const int part = block % split.parts, tile = block / split.parts;
  const int row0 = tile % split.row_tiles * kTile;
  const int column0 = tile / split.row_tiles % split.column_tiles * kTile;
  const int matrix = tile / split.row_tiles / split.column_tiles;
  const int taps = sum == Sum::weights ? z.taps() : 1;
  const int group = matrix / taps, tap = matrix % taps;
  const int row = warp / 2 * kWarpSide, column = warp % 2 * kWarpSide;
  const int begin = part * split.each, steps = min(split.each, split.steps - begin);
  Fetch<sum> fetch(z, copies, group, tap, row0, column0, begin);
  Sums sums = {};
#pragma unroll
  for (int stage = 0; stage < kStages - 1; ++stage) {
    if (stage < steps) fetch.both(tiles[stage]);
    cuda::copy_async_commit();  // empty groups too, so that their number tells which have landed
  }
  int now = 0, next = kStages - 1;
  for (int step = 0; step < steps; ++step) {
    cuda::copy_async_wait<kStages - 2>();
    __syncthreads();
    if (step + kStages - 1 < steps) fetch.both(tiles[next]);
    cuda::copy_async_commit();
    multiply_tiles<left_along, right_along>(sums, tiles[now], row, column);
    now = now + 1 == kStages ? 0 : now + 1;
    next = next + 1 == kStages ? 0 : next + 1;
  }
  if (split.parts > 1 && !add_parts(sums, parts, arrivals, tile, part, split.parts)) return;

  const int rows = sum == Sum::input ? z.c : z.k;
  const int columns = sum == Sum::forward ? z.outputs() : sum == Sum::input ? z.inputs() : z.c;
  const int plane = sum == Sum::forward ? z.oh * z.ow : z.h * z.w, channels = z.groups * rows;
  const int row_step = sum == Sum::weights ? z.c * z.taps() : z.nhwc != 0 ? 1 : plane;
#pragma unroll
  for (int c = 0; c < kAcross; ++c)
#pragma unroll
    for (int e = 0; e < 2; ++e) {
      const int t = column0 + column + c * 8 + lane % 4 * 2 + e;
      if (t >= columns) continue;
      int to = 0;
      if constexpr (sum == Sum::weights)
        to = (group * z.k * z.c + t) * z.taps() + tap;
      else if (z.nhwc != 0)
        to = t * channels + group * rows;
      else
        to = (t / plane * channels + group * rows) * plane + t % plane;
#pragma unroll
      for (int r = 0; r < kDown; ++r)
#pragma unroll
        for (int half = 0; half < 2; ++half) {
          const int i = row0 + row + r * 16 + half * 8 + lane / 4;
          if (i >= rows) continue;
          const float value = sums[r][c][2 * half + e];
          result[to + i * row_step] = sum == Sum::forward ? value + bias[group * rows + i] : value;
        }
    }
}

}  // namespace
}  // namespace klab::implicit
