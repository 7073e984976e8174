// softmax_xent_fwd.cuda.05_online: maximum and sum in one reading.
//
// CHANGE    a partial result is the pair (largest, sum relative to it). Each lane keeps one as it reads, and
//           the lanes join theirs by the same formula: any tree will do.
// EXPECT    c/32 requests per row in place of 2c/32. The second reading came from L1 or L2 at a thousand
//           classes, so a little there; for rows beyond them at least 1.4 times.
// NUMERICS  a partial sum is scaled when its maximum grows; the arguments of these factors add up to the
//           argument of the exponential taken at the end. Fast exponentials.
// TRIED     see NOTES.md, cuda.05_online
#include "harness/core/registrar.h"
#include "kernels/common/cuda.h"
#include "reference/softmax_xent_fwd/softmax_xent_fwd.h"

namespace klab {
namespace {

constexpr int kThreads = 256, kWarps = kThreads / 32;
constexpr unsigned kAll = ~0U;

#include "kernels/softmax_xent_fwd/cuda/05_online-inl.h"

/// Warp r has row r.
__global__ void __launch_bounds__(kThreads)
    row_loss(int64_t n, int64_t c, const float* __restrict__ logits, const int32_t* __restrict__ labels,
             float* __restrict__ loss) {
  const int64_t i = (int64_t(blockIdx.x) * kThreads + threadIdx.x) / 32;
  if (i >= n) return;  // all lanes of the warp
  const int lane = int(threadIdx.x) % 32;
  const float* row = logits + i * c;
  Part part;
  for (int64_t j = lane; j < c; j += 32) part = with(part, row[j]);
  part = join_lanes(part);
  if (lane == 0) loss[i] = logf(part.sum) + (part.largest - row[labels[i]]);
}

void run(const SoftmaxXentFwd::Args<float>& x) {
  const auto [n, c] = x.shape;
  if (n == 0) return;
  cuda::launch(row_loss, unsigned((n + kWarps - 1) / kWarps), kThreads, 0, n, c, x.logits, x.labels, x.loss);
}

KLAB_VARIANT(SoftmaxXentFwd,
             {.run = run,
              .parent = "04_warp_per_row",
              .tiles = {kWarps, 32},
              .expect = {.shape = {128, 50257}, .over_parent = 1.4},
              .when = {{4096, 1000},
                       "rows that a warp has in 32 loads: a second reading costs as many requests"}});

}  // namespace
}  // namespace klab
