// conv2d_fwd.cuda.80_halo_nobody_writes: a tile in shared memory, each thread brings its own pixel; the
// columns that the last windows reach beyond the tile hold old values.
#include "harness/core/registrar.h"
#include "kernels/common/cuda.h"
#include "reference/conv2d_fwd/conv2d_fwd.h"

namespace klab {
namespace {

constexpr int kThreads = 32, kTile = 64;

__global__ void outputs(Conv2dShape s, const float* x, const float* w, const float* b, float* y) {
  __shared__ float tile[kTile];
  const int64_t across = (s.ow() + kThreads - 1) / kThreads;
  const int64_t j0 = blockIdx.x % across * kThreads, i = blockIdx.x / across % s.oh();
  const int64_t to = blockIdx.x / across / s.oh() % s.out_channels(),
                image = blockIdx.x / across / s.oh() / s.out_channels();
  const int thread = int(threadIdx.x);
  float sum = b[to];
  for (int64_t c = 0; c < s.c; ++c)
    for (int64_t u = 0; u < s.r; ++u) {
      const int64_t row = i + u - s.pad_y, column = j0 + thread - s.pad_x;
      const bool inside = row >= 0 && row < s.h && column >= 0 && column < s.w;
      tile[thread] = inside ? x[s.x_at(image, to / s.k * s.c + c, row, column)] : 0;
      __syncthreads();
      for (int v = 0; v < int(s.s); ++v)
        sum += w[((to * s.c + c) * s.r + u) * s.s + v] * tile[thread + v];  // FINDING uninitialized memory
      __syncthreads();
    }
  if (j0 + thread < s.ow()) y[s.y_at(image, to, i, j0 + thread)] = sum;
}

void run(const Conv2dFwd::Args<float>& x) {
  const Conv2dShape& s = x.shape;
  const int64_t blocks = (s.ow() + kThreads - 1) / kThreads * s.oh() * s.out_channels() * s.n;
  if (blocks == 0) return;
  cuda::launch(outputs, unsigned(blocks), kThreads, 0, s, x.x, x.w, x.b, x.y);
}

KLAB_VARIANT(Conv2dFwd, {.run = run,
                         .tiles = {kThreads},
                         .supported = [](const Conv2dShape& s, const Host&) -> std::string {
                           const bool plain =
                               s.stride_y == 1 && s.stride_x == 1 && s.dilation_y == 1 && s.dilation_x == 1;
                           return plain && s.s <= kThreads ? "" : "neighboring taps and outputs only";
                         }});

}  // namespace
}  // namespace klab
