// error_map_weigh.cuda.01_one_each: one thread per ray.
//
// CHANGE   the loop over rays spread over threads.
// EXPECT   two scattered requests a warp, 64 sectors in all; the lists stay in the L2 cache.
#include "harness/core/registrar.h"
#include "kernels/common/cuda.h"
#include "kernels/common/philox.h"
#include "reference/error_map_weigh/error_map_weigh.h"

namespace klab {
namespace {

constexpr int kThreads = 256;

__global__ void __launch_bounds__(kThreads) weigh(ErrorMapWeigh::Args<float> x) {
  const int64_t r = int64_t(blockIdx.x) * kThreads + threadIdx.x;
  if (r >= x.shape.rays) return;
  if (r >= *x.count) {
    x.block[r] = -1;
    return;
  }
  const PhiloxWords words = philox(uint64_t(r), x.seed, x.step);
  const auto view = int64_t(uint64_t(words.w[0]) * uint64_t(x.shape.views) >> 32);
  const int64_t at = view * x.shape.list + int64_t(uint64_t(words.w[1]) * uint64_t(x.shape.list) >> 32);
  x.weight[r] *= x.weights[at];
  x.block[r] = x.blocks[at];
}

void run(const ErrorMapWeigh::Args<float>& x) {
  if (x.shape.rays == 0) return;
  cuda::launch(weigh, dim3(unsigned((x.shape.rays + kThreads - 1) / kThreads)), dim3(kThreads), 0, x);
}

KLAB_VARIANT(ErrorMapWeigh, {.run = run, .tiles = {kThreads}});

}  // namespace
}  // namespace klab
