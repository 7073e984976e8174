// A CUDA rung with another border than zeros: the rung itself, run on copies of the pictures with their border.
#pragma once

#include "kernels/common/cuda.h"
#include "kernels/common/pad/copies.h"
#include "reference/pad2d_fwd/pad2d_fwd.h"

namespace klab::pad {
namespace {

constexpr int kLanes = 32, kWarps = 8, kThreads = kLanes * kWarps;

/// Returns the sum over the block, in all threads.
__device__ float sum_of_block(float value) {
  __shared__ float sums[kWarps];
  const int lane = int(threadIdx.x) % kLanes, warp = int(threadIdx.x) / kLanes;
  for (int by = kLanes / 2; by > 0; by /= 2) value += __shfl_xor_sync(~0U, value, by);
  __syncthreads();  // all have read the sums before
  if (lane == 0) sums[warp] = value;
  __syncthreads();
  float sum = 0;
  for (int k = 0; k < kWarps; ++k) sum += sums[k];
  return sum;
}

/// Writes the pictures with their border: a block has a picture, pixels of `size` numbers, and its warps have rows.
__global__ void __launch_bounds__(kThreads)
    write(PadShape s, int64_t size, const float* __restrict__ x, float* __restrict__ y) {
  const int lane = int(threadIdx.x) % kLanes, warp = int(threadIdx.x) / kLanes;
  const bool copies = s.copies();
  for (int64_t c = 0; c < size; ++c) {
    const float* picture = x + blockIdx.x * s.h * s.w * size + c;
    float border = 0;
    if (s.kind == PadShape::mean) {
      float sum = 0;
      for (int64_t k = threadIdx.x; k < s.h * s.w; k += kThreads) sum += picture[k * size];
      border = sum_of_block(sum) / float(s.h * s.w);
    }
    for (int64_t i = warp; i < s.oh(); i += kWarps) {
      const int64_t row = i - s.pad_y;
      const bool shown = s.inside(row, 0) || copies;
      const float* from = shown ? picture + s.source(row, s.h) * s.w * size : picture;
      float* to = y + (blockIdx.x * s.oh() + i) * s.ow() * size + c;
      for (int64_t j = lane; j < s.ow(); j += kLanes) {
        const int64_t column = j - s.pad_x;
        to[j * size] = shown && (s.inside(0, column) || copies) ? from[s.source(column, s.w) * size] : border;
      }
    }
  }
}

/// Returns this thread's part of the sum over the border.
__device__ float part_of_border(const PadShape& s, int64_t size, const float* __restrict__ d_y) {
  const int lane = int(threadIdx.x) % kLanes, warp = int(threadIdx.x) / kLanes;
  float sum = 0;
  for (int64_t i = warp; i < s.oh(); i += kWarps)
    for (int64_t j = lane; j < s.ow(); j += kLanes)
      if (!s.inside(i - s.pad_y, j - s.pad_x)) sum += d_y[(i * s.ow() + j) * size];
  return sum;
}

/// Returns how many positions along an axis show a pixel, and the one with number k of them: first its own.
__device__ __forceinline__ int64_t places(const PadCopies& c) {
  return 1 + (c.front_end - c.front_begin) + (c.behind_end - c.behind_begin);
}
__device__ __forceinline__ int64_t place(const PadCopies& c, int64_t pixel, int64_t k) {
  const int64_t in_front = c.front_end - c.front_begin;
  if (k == 0) return pixel;
  return k <= in_front ? c.front_begin + k - 1 : c.behind_begin + k - 1 - in_front;
}

/// Writes the gradients of the pictures from those of the pictures with their border.
__global__ void __launch_bounds__(kThreads)
    collect(PadShape s, int64_t size, const float* __restrict__ d_y, float* __restrict__ d_x) {
  const int lane = int(threadIdx.x) % kLanes, warp = int(threadIdx.x) / kLanes;
  for (int64_t c = 0; c < size; ++c) {
    const float* from = d_y + blockIdx.x * s.oh() * s.ow() * size + c;
    float share = 0;
    if (s.kind == PadShape::mean) share = sum_of_block(part_of_border(s, size, from)) / float(s.h * s.w);
    for (int64_t row = warp; row < s.h; row += kWarps) {
      const PadCopies of_row = pad_copies(s, row, s.h, s.pad_y);
      for (int64_t column = lane; column < s.w; column += kLanes) {
        const PadCopies of_column = pad_copies(s, column, s.w, s.pad_x);
        float sum = 0;
        for (int64_t a = 0; a < places(of_row); ++a)
          for (int64_t b = 0; b < places(of_column); ++b)
            sum += from[((place(of_row, row, a) + s.pad_y) * s.ow() + place(of_column, column, b) + s.pad_x) *
                        size];
        d_x[((blockIdx.x * s.h + row) * s.w + column) * size + c] = sum + share;
      }
    }
  }
}

/// Copies of the pictures of conv2d or pool with their border: a picture is a channel, or all channels where those are last.
struct Copies {
  PadShape shape;
  int64_t size;
  cuda::Scratch memory;

  template <class Shape>
  Copies(const Shape& s, int64_t channels)
      : shape(s.pad()),
        size(s.nhwc != 0 && channels > 0 ? channels : 1),
        memory(size_t(s.pad().planes * s.pad().oh() * s.pad().ow()) * sizeof(float)) {
    shape.planes /= size;
  }
  float* numbers() const { return memory.as<float>(); }
  void write_from(const float* x) const {
    if (shape.planes > 0) cuda::launch(write, unsigned(shape.planes), kThreads, 0, shape, size, x, numbers());
  }
  void collect_into(float* d_x) const {
    if (shape.planes > 0)
      cuda::launch(collect, unsigned(shape.planes), kThreads, 0, shape, size,
                   static_cast<const float*>(numbers()), d_x);
  }
};

/// Runs a forward whose shape has a border: `run` on the pictures with their border. `Args` are those of conv2d_fwd or pool_fwd.
template <class Args>
void forward(Args args, int64_t channels, void (*run)(const Args&)) {
  const Copies pictures(args.shape, channels);
  pictures.write_from(args.x);
  args.x = pictures.numbers();
  args.shape = args.shape.bordered();
  run(args);
}

/// Runs a backward alike, and collects the gradient of the pictures. `Args` are those of conv2d_bwd or pool_bwd.
template <class Args>
void backward(Args args, int64_t channels, void (*run)(const Args&)) {
  const Copies pictures(args.shape, channels), gradients(args.shape, channels);
  float* const d_x = args.d_x;
  pictures.write_from(args.x);
  args.x = pictures.numbers();
  args.d_x = gradients.numbers();
  args.shape = args.shape.bordered();
  run(args);
  gradients.collect_into(d_x);
}

}  // namespace
}  // namespace klab::pad
