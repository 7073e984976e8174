// frequency_bwd.cuda.01_naive: a thread a position, octave by octave.
//
// CHANGE    the naive loops, the positions' coordinates spread over threads.
// EXPECT    coalesced; each sine and cosine reduces its own argument, and the next octave's gradients are
//           loaded after this one's are used.
// NUMERICS  2^k·x modulo 2 is exact; then the library's sine and cosine of pi times it. Octaves in order.
#include "harness/core/registrar.h"
#include "kernels/common/cuda.h"
#include "reference/frequency_bwd/frequency_bwd.h"

namespace klab {
namespace {

constexpr int kThreads = 256;

__global__ void __launch_bounds__(kThreads)
    backward(int64_t n, int64_t dim, int octaves, const float* __restrict__ positions,
             const float* __restrict__ d_features, float* __restrict__ d_positions) {
  const int64_t at = int64_t(blockIdx.x) * kThreads + threadIdx.x;
  if (at >= n * dim) return;
  const int64_t i = at % n, c = at / n;
  float sum = 0;
#pragma unroll 1
  for (int k = 0; k < octaves; ++k) {
    const float x = ldexpf(positions[at], k);
    const float turn = x - 2 * rintf(0.5F * x);
    const float* d_sin = d_features + (c * octaves + k) * 2 * n + i;
    const float* d_cos = d_sin + n;
    sum += ldexpf(3.14159265358979F, k) *
           (*d_sin * cosf(3.14159265358979F * turn) - *d_cos * sinf(3.14159265358979F * turn));
  }
  d_positions[at] = sum;
}

void run(const FrequencyBwd::Args<float>& x) {
  const auto [n, dim, octaves] = x.shape;
  if (n == 0) return;
  const int64_t blocks = (n * dim + kThreads - 1) / kThreads;
  cuda::launch(backward, dim3(unsigned(blocks)), dim3(kThreads), 0, n, dim, int(octaves), x.positions,
               x.d_features, x.d_positions);
}

KLAB_VARIANT(FrequencyBwd, {.run = run, .tiles = {kThreads}});

}  // namespace
}  // namespace klab
