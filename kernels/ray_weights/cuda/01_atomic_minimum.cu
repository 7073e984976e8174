// ray_weights.cuda.01_atomic_minimum: a thread per ray, a minimum over all.
//
// CHANGE   the thread of a ray that was cut reports it; an atomic minimum finds the first. A second launch
//          fills.
// EXPECT   coalesced; only rays that were cut meet at the one address.
#include "harness/core/registrar.h"
#include "kernels/common/cuda.h"
#include "reference/ray_weights/ray_weights.h"

namespace klab {
namespace {

constexpr int kThreads = 256;

__global__ void __launch_bounds__(kThreads) find(RayWeights::Args<float> x, int64_t count_in_all) {
  const RayWeights::Shape& s = x.shape;
  const int64_t r = int64_t(blockIdx.x) * kThreads + threadIdx.x;
  if (r >= s.rays) return;
  const int marched = x.ray_begin[s.rays], mine = x.ray_begin[r + 1] - x.ray_begin[r];
  const int counts = x.limit[r] < mine ? x.limit[r] : mine;
  const bool behind_all = marched + s.max_samples > s.capacity && x.ray_begin[r] == marched;
  if (r >= *x.count || behind_all || x.begin[r + 1] - x.begin[r] != counts) atomicMin(x.whole, int(r));
  if (r == 0) atomicMin(x.whole, *x.count < count_in_all ? *x.count : int(count_in_all));
}

__global__ void __launch_bounds__(kThreads) fill(RayWeights::Args<float> x) {
  const int64_t r = int64_t(blockIdx.x) * kThreads + threadIdx.x;
  if (r < x.shape.rays) x.weight[r] = r < *x.whole ? 1.0F / float(*x.whole) : 0;
}

__global__ void begin_with(int32_t* __restrict__ whole, int32_t value) { *whole = value; }

void run(const RayWeights::Args<float>& x) {
  cuda::launch(begin_with, dim3(1), dim3(1), 0, x.whole, int32_t(x.shape.rays));
  if (x.shape.rays == 0) return;
  const dim3 blocks(unsigned((x.shape.rays + kThreads - 1) / kThreads));
  cuda::launch(find, blocks, dim3(kThreads), 0, x, x.shape.rays);
  cuda::launch(fill, blocks, dim3(kThreads), 0, x);
}

KLAB_VARIANT(RayWeights, {.run = run, .tiles = {kThreads}});

}  // namespace
}  // namespace klab
