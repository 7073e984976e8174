// opacity_binary_entropy_fwd.cuda.01_naive: one thread per ray.
//
// CHANGE    the loop over rays spread over threads.
// EXPECT    two logarithms a ray; the launch takes longer than the kernel.
// NUMERICS  float; ln(1 - o) by log1pf, which keeps its digits where o is small.
#include "harness/core/registrar.h"
#include "kernels/common/cuda.h"
#include "reference/opacity_binary_entropy_fwd/opacity_binary_entropy_fwd.h"

namespace klab {
namespace {

constexpr int kThreads = 256;
constexpr float kLow = OpacityBinaryEntropyFwd::low, kHigh = OpacityBinaryEntropyFwd::high;

__global__ void __launch_bounds__(kThreads) binary_entropy(OpacityBinaryEntropyFwd::Args<float> x) {
  const int64_t r = int64_t(blockIdx.x) * kThreads + threadIdx.x;
  if (r >= x.shape.rays) return;
  const float o = fminf(fmaxf(x.opacity[r], kLow), kHigh);
  x.loss[r] = -(o * logf(o) + (1 - o) * log1pf(-o));
}

void run(const OpacityBinaryEntropyFwd::Args<float>& x) {
  if (x.shape.rays == 0) return;
  cuda::launch(binary_entropy, dim3(unsigned((x.shape.rays + kThreads - 1) / kThreads)), dim3(kThreads), 0,
               x);
}

KLAB_VARIANT(OpacityBinaryEntropyFwd, {.run = run, .tiles = {kThreads}});

}  // namespace
}  // namespace klab
