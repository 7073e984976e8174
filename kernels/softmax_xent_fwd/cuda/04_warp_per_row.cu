// softmax_xent_fwd.cuda.04_warp_per_row: no talking between warps.
//
// CHANGE    a warp has a row, eight rows per block; shared memory and barriers are gone.
// EXPECT    at ten classes a block serves 80 logits in place of ten: at least 4 times. At a thousand a lane
//           has 32 logits and nothing to wait for but memory: a little. For 128 rows of a vocabulary it is
//           the wrong way round: 128 warps are one for each multiprocessor, which holds 64.
// NUMERICS  sums in tree order over 32 strided partial sums. Fast exponentials.
#include "harness/core/registrar.h"
#include "kernels/common/cuda.h"
#include "reference/softmax_xent_fwd/softmax_xent_fwd.h"

namespace klab {
namespace {

constexpr int kThreads = 256, kWarps = kThreads / 32;
constexpr unsigned kAll = ~0U;
constexpr float kLowest = -3.402823466e38F;

#include "kernels/common/rows/01_warp_per_row-inl.h"

/// Warp r has row r.
__global__ void __launch_bounds__(kThreads)
    row_loss(int64_t n, int64_t c, const float* __restrict__ logits, const int32_t* __restrict__ labels,
             float* __restrict__ loss) {
  const int64_t i = (int64_t(blockIdx.x) * kThreads + threadIdx.x) / 32;
  if (i >= n) return;  // all lanes of the warp
  const int lane = int(threadIdx.x) % 32;
  const float* row = logits + i * c;
  float largest = kLowest;
  for (int64_t j = lane; j < c; j += 32) largest = fmaxf(largest, row[j]);
  largest = max_of(largest);
  float sum = 0;
  for (int64_t j = lane; j < c; j += 32) sum += __expf(row[j] - largest);
  sum = sum_of(sum);
  if (lane == 0) loss[i] = logf(sum) + (largest - row[labels[i]]);
}

void run(const SoftmaxXentFwd::Args<float>& x) {
  const auto [n, c] = x.shape;
  if (n == 0) return;
  cuda::launch(row_loss, unsigned((n + kWarps - 1) / kWarps), kThreads, 0, n, c, x.logits, x.labels, x.loss);
}

KLAB_VARIANT(SoftmaxXentFwd,
             {.run = run,
              .parent = "03_warp_shuffle",
              .tiles = {kWarps, 32},
              .expect = {.shape = {16384, 10}, .over_parent = 4},
              .when = {{16384, 10}, "rows of ten classes: a block a row has 246 idle threads"}});

}  // namespace
}  // namespace klab
