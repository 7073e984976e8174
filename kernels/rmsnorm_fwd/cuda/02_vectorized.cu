// rmsnorm_fwd.cuda.02_vectorized: sixteen bytes per lane.
//
// CHANGE    a lane loads and stores four neighbors at once.
// EXPECT    a quarter of the requests and four times the bytes in flight per warp: at least 1.2 times.
// NUMERICS  128 strided partial sums, four of a lane in one chain.
// NEEDS     rows of a multiple of four features and arrays that begin at multiples of 16 bytes; others go by single features.
// SASS      LDG.128 STG.128; no LDL STL CALL.div_*64
#include "harness/core/registrar.h"
#include "kernels/common/cuda.h"
#include "reference/rmsnorm_fwd/rmsnorm_fwd.h"

namespace klab {
namespace {

constexpr int kThreads = 256, kWarps = kThreads / 32;

#include "kernels/common/rows/03_vectorized-inl.h"

/// Warp r has row r.
template <int kEach>
__global__ void __launch_bounds__(kThreads)
    normalize(int64_t n, int64_t c, const float* __restrict__ x, const float* __restrict__ gamma,
              const float* __restrict__ epsilon, float* __restrict__ y, float* __restrict__ rrms_of) {
  const int64_t i = (int64_t(blockIdx.x) * kThreads + threadIdx.x) / 32;
  if (i >= n) return;  // all lanes of the warp
  const int lane = int(threadIdx.x) % 32;
  const float* row = x + i * c;
  float squares = 0;
  for (int64_t j = lane * kEach; j < c; j += 32 * kEach) {
    const Pack<kEach> a = load<kEach>(row + j);
    for (int k = 0; k < kEach; ++k) squares += a.v[k] * a.v[k];
  }
  const float rrms = 1 / sqrtf(sum_of(squares) / float(c) + *epsilon);
  for (int64_t j = lane * kEach; j < c; j += 32 * kEach) {
    Pack<kEach> a = load<kEach>(row + j);
    const Pack<kEach> scale = load<kEach>(gamma + j);
    for (int k = 0; k < kEach; ++k) a.v[k] = scale.v[k] * (a.v[k] * rrms);
    store<kEach>(y + i * c + j, a);
  }
  if (lane == 0) rrms_of[i] = rrms;
}

void run(const RmsnormFwd::Args<float>& x) {
  const auto [n, c] = x.shape;
  if (n == 0) return;
  const bool fours = c % 4 == 0 && cuda::aligned(x.x) && cuda::aligned(x.gamma) && cuda::aligned(x.y);
  cuda::launch(fours ? normalize<4> : normalize<1>, unsigned((n + kWarps - 1) / kWarps), kThreads, 0, n, c,
               x.x, x.gamma, x.epsilon, x.y, x.rrms);
}

KLAB_VARIANT(RmsnormFwd, {.run = run,
                          .parent = "01_warp_per_row",
                          .tiles = {4, kWarps, 128},
                          .expect = {.shape = {8192, 1024}, .over_parent = 1.2}});

}  // namespace
}  // namespace klab
