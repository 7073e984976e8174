// batchnorm_inference.cuda.01_one_each: a thread for each number.
//
// CHANGE    the naive form: a thread finds its channel by division and takes root and quotient itself.
// EXPECT    loads of 4 bytes a lane, and two integer divisions of 64 bits, some hundred instructions each, where a product
//           and a sum are the work.
// NUMERICS  as the formula reads.
#include "harness/core/registrar.h"
#include "kernels/common/cuda.h"
#include "reference/batchnorm_inference/batchnorm_inference.h"

namespace klab {
namespace {

constexpr int kThreads = 256;

__global__ void __launch_bounds__(kThreads) normalize(int64_t count, BatchnormInference::Args<float> a) {
  const int64_t k = int64_t(blockIdx.x) * kThreads + threadIdx.x;
  if (k >= count) return;
  const int64_t j = k / a.shape.hw % a.shape.c;
  a.y[k] = a.gamma[j] * (a.x[k] - a.running_mean[j]) / sqrtf(a.running_var[j] + *a.epsilon) + a.beta[j];
}

void run(const BatchnormInference::Args<float>& x) {
  const int64_t count = x.shape.n * x.shape.c * x.shape.hw;
  if (count == 0) return;
  cuda::launch(normalize, unsigned((count + kThreads - 1) / kThreads), kThreads, 0, count, x);
}

KLAB_VARIANT(BatchnormInference, {.run = run, .tiles = {32}});

}  // namespace
}  // namespace klab
