// layernorm_residual_fwd.cuda.02_fused: the sum is in registers when it is normalized.
//
// CHANGE    one kernel: a warp has a row, adds x and residual as it reads them, four neighbors at once, writes the sum, keeps
//           it in registers and normalizes it from there.
// EXPECT    the sum is not read again: 4 numbers an element cross the border where there were 5, and a tenth of the requests.
//           At least 1.3 times. Rows longer than 1,024 read their own sums again.
// NUMERICS  two passes; 128 strided partial sums.
// NEEDS     rows of a multiple of four features and arrays that begin at multiples of 16 bytes; others go by single features.
#include "harness/core/registrar.h"
#include "kernels/common/cuda.h"
#include "reference/layernorm_residual_fwd/layernorm_residual_fwd.h"

namespace klab {
namespace {

constexpr int kThreads = 256, kWarps = kThreads / 32;

#include "kernels/common/rows/03_vectorized-inl.h"

/// Writes the sums of kEach neighbors, and returns them.
template <int kEach>
__device__ __forceinline__ Pack<kEach> add(const LayernormResidualFwd::Args<float>& a, int64_t at) {
  Pack<kEach> sum = load<kEach>(a.x + at);
  const Pack<kEach> residual = load<kEach>(a.residual + at);
  for (int k = 0; k < kEach; ++k) sum.v[k] += residual.v[k];
  store<kEach>(a.sum + at, sum);
  return sum;
}

/// A row of up to 32·kEach·kKept features: lane 0 has the first kEach, lane 1 the next ..., then lane 0 again.
template <int kEach, int kKept>
__global__ void __launch_bounds__(kThreads) keep(LayernormResidualFwd::Args<float> a) {
  const int64_t i = (int64_t(blockIdx.x) * kThreads + threadIdx.x) / 32;
  if (i >= a.shape.n) return;  // all lanes of the warp
  const int lane = int(threadIdx.x) % 32, c = int(a.shape.c);
  Pack<kEach> kept[kKept] = {};  // registers have no index: every loop over it is unrolled
  float sum = 0, squares = 0;
#pragma unroll
  for (int p = 0; p < kKept; ++p) {
    const int j = (32 * p + lane) * kEach;
    if (j >= c) continue;
    kept[p] = add<kEach>(a, i * c + j);
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

/// A longer row, whose sums are read again, twice.
template <int kEach>
__global__ void __launch_bounds__(kThreads) read_again(LayernormResidualFwd::Args<float> a) {
  const int64_t i = (int64_t(blockIdx.x) * kThreads + threadIdx.x) / 32, c = a.shape.c;
  if (i >= a.shape.n) return;  // all lanes of the warp
  const int lane = int(threadIdx.x) % 32;
  const float* row = a.sum + i * c;  // a lane reads its own results
  float sum = 0, squares = 0;
  for (int64_t j = lane * kEach; j < c; j += 32 * kEach) {
    const Pack<kEach> p = add<kEach>(a, i * c + j);
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
using Kernel = void (*)(LayernormResidualFwd::Args<float>);

/// The kernel that keeps no more of c features than it must.
template <int kEach, int kKept = 1>
Kernel kernel_for(int64_t c) {
  if constexpr (kEach * kKept > kMostKept)
    return read_again<kEach>;
  else
    return c <= 32 * kEach * kKept ? keep<kEach, kKept> : kernel_for<kEach, 2 * kKept>(c);
}

void run(const LayernormResidualFwd::Args<float>& x) {
  const auto [n, c] = x.shape;
  if (n == 0) return;
  const bool fours = c % 4 == 0 && cuda::aligned(x.x) && cuda::aligned(x.residual) &&
                     cuda::aligned(x.gamma) && cuda::aligned(x.beta) && cuda::aligned(x.sum) &&
                     cuda::aligned(x.y);
  cuda::launch(fours ? kernel_for<4>(c) : kernel_for<1>(c), unsigned((n + kWarps - 1) / kWarps), kThreads, 0,
               x);
}

KLAB_VARIANT(LayernormResidualFwd, {.run = run,
                                    .parent = "01_two_launches",
                                    .tiles = {4, kWarps, 128, 256, 512, 1024},
                                    .expect = {.shape = {8192, 1024}, .over_parent = 1.3}});

}  // namespace
}  // namespace klab
