// allreduce_gradients.cuda.02_sharded: a thread for every entry, of the rank that owns it.
//
// CHANGE   an entry is added up once, by its owner, which moves it and writes it into every replica.
// EXPECT   gradients are read once and not once a rank; parameters are read on one rank.
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
  for (int64_t q = 0; q < x.shape.ranks; ++q) sum += x.gradient[q * n + i];
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

KLAB_VARIANT(AllreduceGradients, {.run = run, .parent = "01_everybody", .tiles = {kThreads}});

}  // namespace
}  // namespace klab
