// softmax_xent_fwd.cuda.90_cub: the block's reduction from CUB, NVIDIA's collection of parallel primitives.
//
// CHANGE    one block per row; maximum and sum are reduced together by cub::BlockReduce.
// EXPECT    the speed that the shared tree and the warp shuffles were written by hand for. Long rows read
//           once, near the bandwidth; rows of ten leave most of the block idle.
// NUMERICS  partial sums scaled when their maximum grows, joined in the library's order. Fast exponentials.
// NEEDS     a GPU: the host's executor does not compile CUB.
#include <stdexcept>

#include "harness/core/registrar.h"
#include "kernels/common/cuda.h"
#include "reference/softmax_xent_fwd/softmax_xent_fwd.h"

#if !KLAB_SIMT
#include <cub/block/block_reduce.cuh>
#endif

namespace klab {
namespace {

#if KLAB_SIMT

void run(const SoftmaxXentFwd::Args<float>&) { throw std::logic_error("CUB runs on a GPU only"); }

#else

constexpr int kThreads = 256;

/// Statistics of a part of a row. An empty part begins at the lowest finite float: minus infinity less itself
/// would be NaN.
struct Part {
  float largest, sum;  // sum of exp(x - largest)
};

struct Join {
  __device__ Part operator()(Part a, Part b) const {
    const float largest = fmaxf(a.largest, b.largest);
    return {largest, a.sum * __expf(a.largest - largest) + b.sum * __expf(b.largest - largest)};
  }
};

__global__ void __launch_bounds__(kThreads)
    row_loss(int64_t c, const float* __restrict__ logits, const int32_t* __restrict__ labels,
             float* __restrict__ loss) {
  using Reduce = cub::BlockReduce<Part, kThreads>;
  __shared__ typename Reduce::TempStorage shared;
  const float* row = logits + blockIdx.x * c;
  Part part{-3.402823466e38F, 0};
  for (int64_t j = threadIdx.x; j < c; j += kThreads) part = Join{}(part, Part{row[j], 1});
  part = Reduce(shared).Reduce(part, Join{});
  if (threadIdx.x == 0) loss[blockIdx.x] = logf(part.sum) + (part.largest - row[labels[blockIdx.x]]);
}

void run(const SoftmaxXentFwd::Args<float>& x) {
  const auto [n, c] = x.shape;
  if (n == 0) return;
  cuda::launch(row_loss, unsigned(n), kThreads, 0, c, x.logits, x.labels, x.loss);
}

#endif

KLAB_VARIANT(SoftmaxXentFwd,
             {.run = run, .peer = true, .supported = [](const SoftmaxXentFwd::Shape&, const Host& host) {
                return cuda::needs_gpu(host, 70);
              }});

}  // namespace
}  // namespace klab
