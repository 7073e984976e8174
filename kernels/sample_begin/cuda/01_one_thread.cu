// sample_begin.cuda.01_one_thread: one thread adds up.
//
// CHANGE   the naive loop, as one thread runs it.
// EXPECT   each addition waits for two loads of a whole memory latency; thousands of rays one after the
//          other.
#include "harness/core/registrar.h"
#include "kernels/common/cuda.h"
#include "reference/sample_begin/sample_begin.h"

namespace klab {
namespace {

constexpr int kThreads = 256;

__device__ __forceinline__ int32_t wanted(const SampleBegin::Args<float>& x, int64_t r) {
  const int64_t marched = x.ray_begin[r + 1] - x.ray_begin[r], limit = x.limit[r];
  const int64_t n = (limit < marched ? limit : marched) - x.shape.first;
  return int32_t(n < 0 ? 0 : n < x.shape.most ? n : x.shape.most);
}

__global__ void __launch_bounds__(kThreads)
    share_rest(SampleBegin::Args<float> x, const int32_t* __restrict__ total) {
  const int64_t none = x.shape.rays - *x.count;
  const int64_t j = int64_t(blockIdx.x) * kThreads + threadIdx.x + 1;
  if (j <= none) x.begin[*x.count + j] = int32_t(*total + (x.shape.capacity - *total) * j / none);
}

__global__ void add_up(SampleBegin::Args<float> x, int32_t* __restrict__ total) {
  int64_t at = 0;
  bool full = false;
  x.begin[0] = 0;
  for (int64_t r = 0; r < x.shape.rays; ++r) {
    const int64_t n = wanted(x, r);
    full = full || at + n > x.shape.capacity;
    if (!full) at += n;
    x.begin[r + 1] = int32_t(at);
  }
  *total = int32_t(at);
}

void run(const SampleBegin::Args<float>& x) {
  cuda::Scratch scratch(sizeof(int32_t));
  cuda::launch(add_up, dim3(1), dim3(1), 0, x, scratch.as<int32_t>());
  if (x.shape.padded && x.shape.rays > 0)
    cuda::launch(share_rest, dim3(unsigned((x.shape.rays + kThreads - 1) / kThreads)), dim3(kThreads), 0, x,
                 scratch.as<int32_t>());
}

KLAB_VARIANT(SampleBegin, {.run = run, .tiles = {kThreads}});

}  // namespace
}  // namespace klab
