// Layers of mlp_fwd and mlp_bwd for kernels: the device's form of MlpFwd::Shape. Shared by the CUDA rungs
// that process all layers in one launch.
#pragma once

#include "kernels/common/cuda.h"
#include "reference/mlp_fwd/mlp_fwd.h"

namespace klab {
namespace {

struct MlpLayers {
  int64_t n, in, width, hidden, out;
  bool logistic;

  explicit MlpLayers(const MlpFwd::Shape& s)
      : n(s.n), in(s.in), width(s.width), hidden(s.hidden), out(s.out), logistic(s.logistic != 0) {}

  __host__ __device__ int64_t count() const { return hidden + 1; }
  __host__ __device__ int64_t from(int64_t l) const { return l == 0 ? in : width; }
  __host__ __device__ int64_t to(int64_t l) const { return l == hidden ? out : width; }
  __host__ __device__ int64_t widest() const {
    const int64_t more = in > width ? in : width;
    return more > out ? more : out;
  }
  /// Where a layer's weights [to][from] begin; weight_begin(count()) is their number.
  __host__ __device__ int64_t weight_begin(int64_t l) const {
    if (l == 0) return 0;
    const int64_t square = (l <= hidden ? l : hidden) - 1;
    return width * in + square * width * width + (l > hidden ? out * width : 0);
  }
};

/// Channels up to whole fragments of 16.
__host__ __device__ inline int mlp_whole(int64_t channels) { return int(channels + 15) / 16 * 16; }

/// Where a layer begins in a gradient of the weights that is kept in whole fragments:
/// [whole(to)][whole(from)].
__host__ __device__ inline int64_t mlp_whole_begin(const MlpLayers& s, int64_t l) {
  int64_t begin = 0;
  for (int64_t k = 0; k < l; ++k) begin += int64_t(mlp_whole(s.to(k))) * mlp_whole(s.from(k));
  return begin;
}

/// Distance of rows of weights or samples in shared memory: an odd multiple of 16 bytes, so that 8 rows begin in different
/// banks.
__host__ __device__ inline int mlp_stride(int64_t channels) { return mlp_whole(channels) + 8; }

/// Copies layer l to shared memory, by a whole block: [to][from], rounded to bfloat16, zeros up to whole
/// fragments. The caller provides the barriers before and after.
__device__ __forceinline__ void mlp_bring_weights(__nv_bfloat16* shared, const MlpLayers& s, int64_t l,
                                                  const float* __restrict__ weights) {
  const int from = int(s.from(l)), to = int(s.to(l)), columns = mlp_whole(from);
  const float* w = weights + s.weight_begin(l);
  for (int e = int(threadIdx.x); e < mlp_whole(to) * columns; e += int(blockDim.x)) {
    const int r = e / columns, c = e % columns;
    shared[r * mlp_stride(from) + c] = __float2bfloat16(r < to && c < from ? w[r * from + c] : 0);
  }
}

}  // namespace
}  // namespace klab
