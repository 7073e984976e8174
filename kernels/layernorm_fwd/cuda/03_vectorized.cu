// layernorm_fwd.cuda.03_vectorized: sixteen bytes per lane.
//
// CHANGE    a lane loads and stores four neighbors at once.
// EXPECT    a quarter of the requests, 16 sectors/request, and four times the bytes in flight per warp: at least 1.2 times.
// NUMERICS  128 strided partial sums, four of a lane in one chain; two passes.
// NEEDS     rows of a multiple of four features and arrays that begin at multiples of 16 bytes; others go by single features.
// TRIED     on paper only: a head and a tail by single features for rows that begin anywhere. x, y, gamma and beta have their
//           boundaries at different features then.
// SASS      LDG.128 STG.128; no LDL STL CALL.div_*64
#include "harness/core/registrar.h"
#include "kernels/common/cuda.h"
#include "reference/layernorm_fwd/layernorm_fwd.h"

namespace klab {
namespace {

constexpr int kThreads = 256, kWarps = kThreads / 32;

#include "kernels/common/rows/03_vectorized-inl.h"

/// Warp r has row r.
template <int kEach>
__global__ void __launch_bounds__(kThreads)
    normalize(int64_t n, int64_t c, const float* __restrict__ x, const float* __restrict__ gamma,
              const float* __restrict__ beta, const float* __restrict__ epsilon, float* __restrict__ y,
              float* __restrict__ mean_of, float* __restrict__ rstd_of) {
  const int64_t i = (int64_t(blockIdx.x) * kThreads + threadIdx.x) / 32;
  if (i >= n) return;  // all lanes of the warp
  const int lane = int(threadIdx.x) % 32;
  const float* row = x + i * c;
  float sum = 0, squares = 0;
  for (int64_t j = lane * kEach; j < c; j += 32 * kEach) {
    const Pack<kEach> a = load<kEach>(row + j);
    for (int k = 0; k < kEach; ++k) sum += a.v[k];
  }
  const float mean = sum_of(sum) / float(c);
  for (int64_t j = lane * kEach; j < c; j += 32 * kEach) {
    const Pack<kEach> a = load<kEach>(row + j);
    for (int k = 0; k < kEach; ++k) squares += (a.v[k] - mean) * (a.v[k] - mean);
  }
  const float rstd = 1 / sqrtf(sum_of(squares) / float(c) + *epsilon);
  for (int64_t j = lane * kEach; j < c; j += 32 * kEach) {
    Pack<kEach> a = load<kEach>(row + j);
    const Pack<kEach> scale = load<kEach>(gamma + j), shift = load<kEach>(beta + j);
    for (int k = 0; k < kEach; ++k) a.v[k] = scale.v[k] * ((a.v[k] - mean) * rstd) + shift.v[k];
    store<kEach>(y + i * c + j, a);
  }
  if (lane == 0) {
    mean_of[i] = mean;
    rstd_of[i] = rstd;
  }
}

void run(const LayernormFwd::Args<float>& x) {
  const auto [n, c] = x.shape;
  if (n == 0) return;
  const bool fours = c % 4 == 0 && cuda::aligned(x.x) && cuda::aligned(x.gamma) && cuda::aligned(x.beta) &&
                     cuda::aligned(x.y);
  cuda::launch(fours ? normalize<4> : normalize<1>, unsigned((n + kWarps - 1) / kWarps), kThreads, 0, n, c,
               x.x, x.gamma, x.beta, x.epsilon, x.y, x.mean, x.rstd);
}

KLAB_VARIANT(LayernormFwd, {.run = run,
                            .parent = "02_warp_per_row",
                            .tiles = {4, kWarps, 128},
                            .expect = {.shape = {8192, 1024}, .over_parent = 1.2}});

}  // namespace
}  // namespace klab
