// softmax_xent_bwd.cuda.01_warp_per_row: one warp per row, three loops.
//
// CHANGE    the naive loops of the gradient with 32 lanes per row: maximum, sum, gradient, each reads the row.
// EXPECT    3c/32 load requests and c/32 store requests a row, of 4 sectors/request where the row begins on 32
//           bytes, up to 5 elsewhere. Rows of a thousand come from L1 or L2 the second and third time: within
//           half of the copy bandwidth.
// NUMERICS  sums in tree order over 32 strided partial sums. Fast exponentials.
#include "harness/core/registrar.h"
#include "kernels/common/cuda.h"
#include "reference/softmax_xent_bwd/softmax_xent_bwd.h"

namespace klab {
namespace {

constexpr int kThreads = 256, kWarps = kThreads / 32;
constexpr unsigned kAll = ~0U;
constexpr float kLowest = -3.402823466e38F;

#include "kernels/common/rows/01_warp_per_row-inl.h"

/// Warp r has row r.
__global__ void __launch_bounds__(kThreads)
    gradient(int64_t n, int64_t c, const float* __restrict__ logits, const int32_t* __restrict__ labels,
             const float* __restrict__ d_loss, float* __restrict__ loss, float* __restrict__ d_logits) {
  const int64_t i = (int64_t(blockIdx.x) * kThreads + threadIdx.x) / 32;
  if (i >= n) return;  // all lanes of the warp
  const int lane = int(threadIdx.x) % 32;
  const float* row = logits + i * c;
  float* d = d_logits + i * c;
  const int64_t label = labels[i];

  float largest = kLowest;
  for (int64_t j = lane; j < c; j += 32) largest = fmaxf(largest, row[j]);
  largest = max_of(largest);
  float sum = 0;
  for (int64_t j = lane; j < c; j += 32) sum += __expf(row[j] - largest);
  sum = sum_of(sum);
  const float g = d_loss[i], scale = g / sum;
  for (int64_t j = lane; j < c; j += 32) {
    const float share = scale * __expf(row[j] - largest);
    d[j] = j == label ? share - g : share;
  }
  if (lane == 0) loss[i] = logf(sum) + (largest - row[label]);
}

void run(const SoftmaxXentBwd::Args<float>& x) {
  const auto [n, c] = x.shape;
  if (n == 0) return;
  cuda::launch(gradient, unsigned((n + kWarps - 1) / kWarps), kThreads, 0, n, c, x.logits, x.labels, x.d_loss,
               x.loss, x.d_logits);
}

KLAB_VARIANT(SoftmaxXentBwd, {.run = run, .forward = "04_warp_per_row", .tiles = {kWarps, 32}});

}  // namespace
}  // namespace klab
