// allreduce_gradients.cuda.03_touched: untouched entries are left alone.
//
// CHANGE   an entry without a gradient on any rank ends its thread: its parameters are neither read nor
//          written.
// EXPECT   sectors of parameters in proportion to the touched entries; those of gradients stay.
// NUMERICS as the parent.
#include "harness/core/registrar.h"
#include "kernels/common/cuda.h"
#include "reference/allreduce_gradients/allreduce_gradients.h"

namespace klab {
namespace {

using Op = AllreduceGradients;

constexpr int kThreads = 256;

__global__ void __launch_bounds__(kThreads)
    of_part(Op::Args<float> x, int64_t rank, int64_t begin, int64_t end) {
  const int64_t i = begin + int64_t(blockIdx.x) * kThreads + threadIdx.x, n = x.shape.n;
  if (i >= end) return;
  float sum = 0;
  bool touched = false;
  for (int64_t q = 0; q < x.shape.ranks; ++q) {
    const float g = x.gradient[q * n + i];
    touched = touched || g != 0;  // NaN too
    sum += g;
  }
  if (!touched) return;
  const float moved = x.param[rank * n + i] - *x.rate / float(x.shape.ranks) * sum;
  for (int64_t q = 0; q < x.shape.ranks; ++q) x.param[q * n + i] = moved;
}

void run(const Op::Args<float>& x) {
  for (int64_t rank = 0; rank < x.shape.ranks; ++rank) {
    const int64_t begin = Op::first(x.shape, rank), end = Op::first(x.shape, rank + 1);
    if (begin == end) continue;
    cuda::launch(of_part, dim3(unsigned((end - begin + kThreads - 1) / kThreads)), dim3(kThreads), 0, x, rank,
                 begin, end);
  }
}

KLAB_VARIANT(AllreduceGradients, {.run = run, .parent = "02_sharded", .tiles = {kThreads}});

}  // namespace
}  // namespace klab
