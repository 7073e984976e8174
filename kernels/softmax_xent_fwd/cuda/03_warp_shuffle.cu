// softmax_xent_fwd.cuda.03_warp_shuffle: registers talk.
//
// CHANGE    a warp joins its 32 partial results by five shuffles; only one value a warp passes through shared
//           memory, and every thread joins these eight itself.
// EXPECT    one barrier for each reduction in place of ten and eight. A row of a thousand has four logits a
//           thread, so barriers were much of its time: at least 1.3 times.
// NUMERICS  sums in tree order. Fast exponentials.
#include "harness/core/registrar.h"
#include "kernels/common/cuda.h"
#include "reference/softmax_xent_fwd/softmax_xent_fwd.h"

namespace klab {
namespace {

constexpr int kThreads = 256, kWarps = kThreads / 32;
constexpr unsigned kAll = ~0U;
constexpr float kLowest = -3.402823466e38F;

#include "kernels/common/rows/01_warp_per_row-inl.h"

/// Block r has row r.
__global__ void __launch_bounds__(kThreads)
    row_loss(int64_t c, const float* __restrict__ logits, const int32_t* __restrict__ labels,
             float* __restrict__ loss) {
  __shared__ float maxima[kWarps], sums[kWarps];  // apart, so that no barrier stands between their uses
  const int thread = int(threadIdx.x), warp = thread / 32, lane = thread % 32;
  const float* row = logits + int64_t(blockIdx.x) * c;

  float largest = kLowest;
  for (int64_t j = thread; j < c; j += kThreads) largest = fmaxf(largest, row[j]);
  largest = max_of(largest);
  if (lane == 0) maxima[warp] = largest;
  __syncthreads();
  for (int w = 0; w < kWarps; ++w) largest = fmaxf(largest, maxima[w]);

  float sum = 0;
  for (int64_t j = thread; j < c; j += kThreads) sum += __expf(row[j] - largest);
  sum = sum_of(sum);
  if (lane == 0) sums[warp] = sum;
  __syncthreads();
  if (thread > 0) return;
  for (int w = 1; w < kWarps; ++w) sum += sums[w];
  loss[blockIdx.x] = logf(sum) + (largest - row[labels[blockIdx.x]]);
}

void run(const SoftmaxXentFwd::Args<float>& x) {
  if (x.shape.n == 0) return;
  cuda::launch(row_loss, unsigned(x.shape.n), kThreads, 0, x.shape.c, x.logits, x.labels, x.loss);
}

KLAB_VARIANT(SoftmaxXentFwd, {.run = run,
                              .parent = "02_shared_tree",
                              .tiles = {32, kThreads},
                              .expect = {.shape = {4096, 1000}, .over_parent = 1.3}});

}  // namespace
}  // namespace klab
