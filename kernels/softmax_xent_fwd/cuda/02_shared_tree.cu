// softmax_xent_fwd.cuda.02_shared_tree: one block per row, halving.
//
// CHANGE    256 threads have a row: each reduces every 256th logit in a register, then a tree in shared
//           memory joins the 256 partial results, the upper half of the threads handing theirs to the lower
//           half, eight times.
// EXPECT    no atomics. 8 steps and a barrier each, twice a row; no bank conflict, since working threads are
//           neighbors. At a thousand classes at least 4 times the parent; at ten, 246 of 256 threads hold
//           nothing.
// NUMERICS  sums in tree order. Fast exponentials.
// TRIED     see NOTES.md, cuda.02_shared_tree
#include "harness/core/registrar.h"
#include "kernels/common/cuda.h"
#include "reference/softmax_xent_fwd/softmax_xent_fwd.h"

namespace klab {
namespace {

constexpr int kThreads = 256;
constexpr float kLowest = -3.402823466e38F;

/// Block r has row r.
__global__ void __launch_bounds__(kThreads)
    row_loss(int64_t c, const float* __restrict__ logits, const int32_t* __restrict__ labels,
             float* __restrict__ loss) {
  __shared__ float part[kThreads];
  const int thread = int(threadIdx.x);
  const float* row = logits + int64_t(blockIdx.x) * c;

  float own = kLowest;
  for (int64_t j = thread; j < c; j += kThreads) own = fmaxf(own, row[j]);
  part[thread] = own;
  for (int half = kThreads / 2; half > 0; half /= 2) {
    __syncthreads();
    if (thread < half) part[thread] = fmaxf(part[thread], part[thread + half]);
  }
  __syncthreads();
  const float largest = part[0];
  __syncthreads();  // all have read it before it is overwritten

  float sum = 0;
  for (int64_t j = thread; j < c; j += kThreads) sum += __expf(row[j] - largest);
  part[thread] = sum;
  for (int half = kThreads / 2; half > 0; half /= 2) {
    __syncthreads();
    if (thread < half) part[thread] += part[thread + half];
  }
  if (thread == 0) loss[blockIdx.x] = logf(part[0]) + (largest - row[labels[blockIdx.x]]);
}

void run(const SoftmaxXentFwd::Args<float>& x) {
  if (x.shape.n == 0) return;
  cuda::launch(row_loss, unsigned(x.shape.n), kThreads, 0, x.shape.c, x.logits, x.labels, x.loss);
}

KLAB_VARIANT(SoftmaxXentFwd, {.run = run,
                              .parent = "01_atomic_sum",
                              .tiles = {kThreads},
                              .expect = {.shape = {4096, 1000}, .over_parent = 4}});

}  // namespace
}  // namespace klab
