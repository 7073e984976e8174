// layernorm_fwd.cuda.04_kept: read once, written once.
//
// CHANGE    a lane keeps its features of a row in registers, up to 32 of them: mean, variance and output come from there. How
//           many is a template parameter, the next power of two.
// EXPECT    a third of the requests for x, so half of all; the row crosses the border once in each direction even where L1
//           has lost it. At least 1.1 times at a thousand features. Longer rows are read three times, as by the parent.
// NUMERICS  as the parent.
// NEEDS     as the parent.
// TRIED     on paper only: 32 registers for every row. Short rows would walk through empty ones.
#include "harness/core/registrar.h"
#include "kernels/common/cuda.h"
#include "reference/layernorm_fwd/layernorm_fwd.h"

namespace klab {
namespace {

constexpr int kThreads = 256, kWarps = kThreads / 32;

#include "kernels/common/rows/03_vectorized-inl.h"

/// A row of up to 32·kEach·kKept features: lane 0 has the first kEach, lane 1 the next ..., then lane 0 again.
template <int kEach, int kKept>
__global__ void __launch_bounds__(kThreads) keep(LayernormFwd::Args<float> a) {
  const int64_t i = (int64_t(blockIdx.x) * kThreads + threadIdx.x) / 32;
  if (i >= a.shape.n) return;  // all lanes of the warp
  const int lane = int(threadIdx.x) % 32, c = int(a.shape.c);
  Pack<kEach> kept[kKept] = {};  // registers have no index: every loop over it is unrolled
  float sum = 0, squares = 0;
#pragma unroll
  for (int p = 0; p < kKept; ++p) {
    const int j = (32 * p + lane) * kEach;
    if (j >= c) continue;
    kept[p] = load<kEach>(a.x + i * c + j);
    for (int k = 0; k < kEach; ++k) sum += kept[p].v[k];
  }
  const float mean = sum_of(sum) / float(c);
#pragma unroll
  for (int p = 0; p < kKept; ++p)
    for (int k = 0; k < kEach && (32 * p + lane) * kEach < c; ++k)
      squares += (kept[p].v[k] - mean) * (kept[p].v[k] - mean);
  const float rstd = 1 / sqrtf(sum_of(squares) / float(c) + *a.epsilon);
#pragma unroll
  for (int p = 0; p < kKept; ++p) {
    const int j = (32 * p + lane) * kEach;
    if (j >= c) continue;
    const Pack<kEach> scale = load<kEach>(a.gamma + j), shift = load<kEach>(a.beta + j);
    for (int k = 0; k < kEach; ++k) kept[p].v[k] = scale.v[k] * ((kept[p].v[k] - mean) * rstd) + shift.v[k];
    store<kEach>(a.y + i * c + j, kept[p]);
  }
  if (lane == 0) a.mean[i] = mean, a.rstd[i] = rstd;
}

/// A longer row, read three times.
template <int kEach>
__global__ void __launch_bounds__(kThreads) read_again(LayernormFwd::Args<float> a) {
  const int64_t i = (int64_t(blockIdx.x) * kThreads + threadIdx.x) / 32, c = a.shape.c;
  if (i >= a.shape.n) return;  // all lanes of the warp
  const int lane = int(threadIdx.x) % 32;
  const float* row = a.x + i * c;
  float sum = 0, squares = 0;
  for (int64_t j = lane * kEach; j < c; j += 32 * kEach) {
    const Pack<kEach> p = load<kEach>(row + j);
    for (int k = 0; k < kEach; ++k) sum += p.v[k];
  }
  const float mean = sum_of(sum) / float(c);
  for (int64_t j = lane * kEach; j < c; j += 32 * kEach) {
    const Pack<kEach> p = load<kEach>(row + j);
    for (int k = 0; k < kEach; ++k) squares += (p.v[k] - mean) * (p.v[k] - mean);
  }
  const float rstd = 1 / sqrtf(sum_of(squares) / float(c) + *a.epsilon);
  for (int64_t j = lane * kEach; j < c; j += 32 * kEach) {
    Pack<kEach> p = load<kEach>(row + j);
    const Pack<kEach> scale = load<kEach>(a.gamma + j), shift = load<kEach>(a.beta + j);
    for (int k = 0; k < kEach; ++k) p.v[k] = scale.v[k] * ((p.v[k] - mean) * rstd) + shift.v[k];
    store<kEach>(a.y + i * c + j, p);
  }
  if (lane == 0) a.mean[i] = mean, a.rstd[i] = rstd;
}

constexpr int kMostKept = 32;  // features of a lane
using Kernel = void (*)(LayernormFwd::Args<float>);

/// The kernel that keeps no more of c features than it must.
template <int kEach, int kKept = 1>
Kernel kernel_for(int64_t c) {
  if constexpr (kEach * kKept > kMostKept)
    return read_again<kEach>;
  else
    return c <= 32 * kEach * kKept ? keep<kEach, kKept> : kernel_for<kEach, 2 * kKept>(c);
}

void run(const LayernormFwd::Args<float>& x) {
  const auto [n, c] = x.shape;
  if (n == 0) return;
  const bool fours = c % 4 == 0 && cuda::aligned(x.x) && cuda::aligned(x.gamma) && cuda::aligned(x.beta) &&
                     cuda::aligned(x.y);
  cuda::launch(fours ? kernel_for<4>(c) : kernel_for<1>(c), unsigned((n + kWarps - 1) / kWarps), kThreads, 0,
               x);
}

KLAB_VARIANT(LayernormFwd, {.run = run,
                            .parent = "03_vectorized",
                            .tiles = {4, kWarps, 128, 256, 512, 1024},
                            .expect = {.shape = {8192, 1024}, .over_parent = 1.1}});

}  // namespace
}  // namespace klab
