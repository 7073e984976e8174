// batchnorm_inference.cuda.02_block_per_run: one channel for a block, four numbers for a thread.
//
// CHANGE    a block has a channel of one example, whose scale and shift it makes once; its threads load and store four
//           neighbors at once. Without positions (hw = 1) a block has a row, and a thread's numbers are channels.
// EXPECT    no division of integers, a root for a thread and not for a number, and a quarter of the requests where runs begin
//           at multiples of 16 bytes: at least 1.5 times.
// NUMERICS  as the parent, up to the order of division and product.
// NEEDS     runs of a multiple of four numbers and arrays that begin at multiples of 16 bytes; others go by single numbers.
// SASS      LDG.128 STG.128; no LDL STL CALL.div_*64
#include "harness/core/registrar.h"
#include "kernels/common/cuda.h"
#include "reference/batchnorm_inference/batchnorm_inference.h"

namespace klab {
namespace {

constexpr int kThreads = 256;

/// Run i of the n·c, of channel i % c.
__global__ void __launch_bounds__(kThreads) runs(BatchnormInference::Args<float> a, bool fours) {
  const int64_t i = blockIdx.x, j = i % a.shape.c, hw = a.shape.hw;
  const float scale = a.gamma[j] / sqrtf(a.running_var[j] + *a.epsilon), mean = a.running_mean[j],
              beta = a.beta[j];
  const auto out = [&](float x) { return scale * (x - mean) + beta; };
  if (!fours) {
    for (int64_t k = threadIdx.x; k < hw; k += blockDim.x) a.y[i * hw + k] = out(a.x[i * hw + k]);
    return;
  }
  for (int64_t k = 4 * threadIdx.x; k < hw; k += 4 * blockDim.x) {
    const float4 x = *reinterpret_cast<const float4*>(a.x + i * hw + k);
    *reinterpret_cast<float4*>(a.y + i * hw + k) = make_float4(out(x.x), out(x.y), out(x.z), out(x.w));
  }
}

/// Row i of channels.
__global__ void __launch_bounds__(kThreads) rows(BatchnormInference::Args<float> a) {
  const int64_t c = a.shape.c, i = blockIdx.x;
  for (int64_t j = threadIdx.x; j < c; j += blockDim.x) {
    const float scale = a.gamma[j] / sqrtf(a.running_var[j] + *a.epsilon);
    a.y[i * c + j] = scale * (a.x[i * c + j] - a.running_mean[j]) + a.beta[j];
  }
}

/// Returns whole warps for `count` numbers, or groups of four numbers, up to kThreads: an empty warp would
/// load its scale for nothing.
unsigned threads_for(int64_t count) { return unsigned(count < kThreads ? (count + 31) / 32 * 32 : kThreads); }

void run(const BatchnormInference::Args<float>& x) {
  const auto [n, c, hw] = x.shape;
  if (n * c * hw == 0) return;
  const bool fours = hw % 4 == 0 && cuda::aligned(x.x) && cuda::aligned(x.y);
  if (hw == 1)
    cuda::launch(rows, unsigned(n), threads_for(c), 0, x);
  else
    cuda::launch(runs, unsigned(n * c), threads_for(fours ? hw / 4 : hw), 0, x, fours);
}

KLAB_VARIANT(BatchnormInference, {.run = run,
                                  .parent = "01_one_each",
                                  .tiles = {4, kThreads},
                                  .expect = {.shape = {32, 64, 56 * 56}, .over_parent = 1.5}});

}  // namespace
}  // namespace klab
