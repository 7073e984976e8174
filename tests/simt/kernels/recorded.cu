// Kernels whose time lines are known: copies that are waited for at once, and copies in flight while others are used.
#include "kernels/common/cuda.h"

#define KLAB_RUN(name) extern "C" __attribute__((visibility("default"))) void run_##name()

namespace {

namespace cuda = klab::cuda;

constexpr int kThreads = 64, kTurns = 6, kReads = 8;

__device__ float sum_of_piece(const float* piece) {
  float sum = 0;
  for (int k = 0; k < kReads; ++k) sum += piece[(threadIdx.x + 8 * k) % kThreads];
  return sum;
}

// Each turn copies, waits and uses.
__global__ void copied_then_used(const float* x, float* y) {
  __shared__ __align__(16) float piece[kThreads];
  const int t = threadIdx.x;
  float sum = 0;
  for (int i = 0; i < kTurns; ++i) {
    cuda::copy_async<4>(&piece[t], x + kThreads * i + t);
    cuda::copy_async_commit();
    cuda::copy_async_wait<0>();
    __syncthreads();
    sum += sum_of_piece(piece);
    __syncthreads();
  }
  y[t] = sum;
}

// The next piece is in flight while this one is used.
__global__ void copied_ahead(const float* x, float* y) {
  __shared__ __align__(16) float piece[2][kThreads];
  const int t = threadIdx.x;
  float sum = 0;
  cuda::copy_async<4>(&piece[0][t], x + t);
  cuda::copy_async_commit();
  for (int i = 0; i < kTurns; ++i) {
    if (i + 1 < kTurns) cuda::copy_async<4>(&piece[(i + 1) % 2][t], x + kThreads * (i + 1) + t);
    cuda::copy_async_commit();
    cuda::copy_async_wait<1>();
    __syncthreads();
    sum += sum_of_piece(piece[i % 2]);
    __syncthreads();
  }
  y[t] = sum;
}

// The first warp works 20 times as long as the second before they meet; a quarter of the lanes of the second stores.
__global__ void unequal_warps(const float* x, float* y) {
  const int t = threadIdx.x, turns = t < 32 ? 20 : 1;
  float sum = 0;
  for (int i = 0; i < turns; ++i) sum += x[(t + i) % kThreads];
  __syncthreads();
  if (t < 40) y[t] = sum;
}

// Columns of a tile: without padding all in one bank.
template <int kPad>
__global__ void columns(float* y) {
  __shared__ float tile[32][32 + kPad];
  for (int r = 0; r < 32; ++r) tile[r][threadIdx.x] = float(r);
  __syncwarp();
  for (int r = 0; r < 32; ++r) y[r * 32 + threadIdx.x] = tile[threadIdx.x][r];
}

template <class Kernel>
void run(Kernel kernel) {
  const cuda::Scratch x(kThreads * kTurns * 4), y(kThreads * 4);
  cuda::fill_zero(x.as<float>(), kThreads * kTurns * 4);
  cuda::launch(kernel, 1, kThreads, 0, x.as<float>(), y.as<float>());
}

}  // namespace

KLAB_RUN(copied_then_used) { run(copied_then_used); }
KLAB_RUN(copied_ahead) { run(copied_ahead); }
KLAB_RUN(unequal_warps) { run(unequal_warps); }
KLAB_RUN(columns) {
  const cuda::Scratch y(32 * 32 * 4);
  cuda::launch(columns<0>, 1, 32, 0, y.as<float>());
  cuda::launch(columns<1>, 1, 32, 0, y.as<float>());
}
