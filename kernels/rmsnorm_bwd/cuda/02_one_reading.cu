// rmsnorm_bwd.cuda.02_one_reading: rows and columns in one kernel.
//
// CHANGE    a block has 32 rows, one after the other, and each of its threads up to four columns: it keeps x and d_y of a row
//           until its mean is known, writes d_x, and carries the sums of its columns from row to row. Each block leaves a
//           row of partial sums; a second kernel adds these up.
// EXPECT    x and d_y are requested once where they were three times, and the columns are shared among n/32 blocks. At least
//           1.5 times at a thousand features. Longer rows take the parent's two kernels.
// NUMERICS  256 partial sums and tree order along a row; down a column 32 rows at a time, then the blocks in order.
// NEEDS     nothing; n/32 rows of scratch.
#include "harness/core/registrar.h"
#include "kernels/common/cuda.h"
#include "reference/rmsnorm_bwd/rmsnorm_bwd.h"

namespace klab {
namespace {

constexpr int kThreads = 256, kWarps = kThreads / 32, kRows = 32, kMost = 4;
using Args = RmsnormBwd::Args<float>;

__device__ __forceinline__ float sum_of(float v) {
  for (int by = 16; by > 0; by /= 2) v += __shfl_xor_sync(~0U, v, by);
  return v;
}

/// The sum over all threads, in all threads; `part` holds one for each warp. One barrier: the caller
/// alternates between two such arrays, so that no thread overwrites values that another still reads.
__device__ __forceinline__ float sum_all(float v, float (&part)[kWarps]) {
  v = sum_of(v);
  if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = v;
  __syncthreads();
  float sum = 0;
  for (int w = 0; w < kWarps; ++w) sum += part[w];
  return sum;
}

/// Rows of up to kMost·256 features: column k·256 + t is thread t's.
__global__ void __launch_bounds__(kThreads) gradients(Args a, float* __restrict__ partial) {
  __shared__ float part[2][kWarps];
  const int c = int(a.shape.c), t = int(threadIdx.x);
  const int64_t begin = int64_t(blockIdx.x) * kRows, end = min(begin + kRows, a.shape.n);
  float d_gamma[kMost] = {};
  for (int64_t i = begin; i < end; ++i) {
    const float rrms = a.rrms[i];
    float xhat[kMost], g[kMost], product = 0;
#pragma unroll
    for (int k = 0; k < kMost; ++k) {
      const int j = k * kThreads + t;
      const float d_y = j < c ? a.d_y[i * c + j] : 0;
      xhat[k] = j < c ? a.x[i * c + j] * rrms : 0;
      g[k] = j < c ? d_y * a.gamma[j] : 0;
      product += g[k] * xhat[k];
      d_gamma[k] += d_y * xhat[k];
    }
    product = sum_all(product, part[i % 2]) / float(c);
#pragma unroll
    for (int k = 0; k < kMost; ++k)
      if (k * kThreads + t < c) a.d_x[i * c + k * kThreads + t] = rrms * (g[k] - xhat[k] * product);
  }
#pragma unroll
  for (int k = 0; k < kMost; ++k)
    if (k * kThreads + t < c) partial[int64_t(blockIdx.x) * c + k * kThreads + t] = d_gamma[k];
}

/// Column sums of `parts` rows.
__global__ void __launch_bounds__(kThreads)
    join(int64_t parts, int64_t c, const float* __restrict__ partial, float* __restrict__ d_gamma) {
  const int64_t j = int64_t(blockIdx.x) * kThreads + threadIdx.x;
  if (j >= c) return;
  float gamma = 0;
  for (int64_t p = 0; p < parts; ++p) gamma += partial[p * c + j];
  d_gamma[j] = gamma;
}

#include "kernels/rmsnorm_bwd/cuda/01_two_kernels_rows-inl.h"

#include "kernels/rmsnorm_bwd/cuda/01_two_kernels_columns-inl.h"

unsigned blocks(int64_t work, int each) { return unsigned((work + each - 1) / each); }

void run(const Args& x) {
  const auto [n, c] = x.shape;
  if (c > kMost * kThreads) {
    if (n > 0) cuda::launch(rows, blocks(n, kWarps), kThreads, 0, n, c, x.x, x.gamma, x.rrms, x.d_y, x.d_x);
    cuda::launch(columns, blocks(c, kThreads), kThreads, 0, n, c, x.x, x.rrms, x.d_y, x.d_gamma);
    return;
  }
  const int64_t parts = blocks(n, kRows);
  cuda::Scratch scratch(size_t(parts * c) * sizeof(float));
  if (n > 0) cuda::launch(gradients, unsigned(parts), kThreads, 0, x, scratch.as<float>());
  cuda::launch(join, blocks(c, kThreads), kThreads, 0, parts, c, scratch.as<float>(), x.d_gamma);
}

KLAB_VARIANT(RmsnormBwd, {.run = run,
                          .parent = "01_two_kernels",
                          .forward = "01_warp_per_row",
                          .tiles = {kRows, kThreads, kMost* kThreads},
                          .expect = {.shape = {8192, 1024}, .over_parent = 1.5}});

}  // namespace
}  // namespace klab
