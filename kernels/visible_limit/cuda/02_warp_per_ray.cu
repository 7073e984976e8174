// visible_limit.cuda.02_warp_per_ray: one warp per ray, a scan across its lanes.
//
// CHANGE   32 samples of a ray at a time: five shuffles make the running sum, a ballot finds the first lane
//          above the limit.
// EXPECT   whole lines per request, and rays of hundreds of samples take a dozen iterations instead of
//          hundreds; rays of a few leave most lanes idle.
#include "harness/core/registrar.h"
#include "kernels/common/cuda.h"
#include "reference/visible_limit/visible_limit.h"

namespace klab {
namespace {

constexpr int kThreads = 256;

__global__ void __launch_bounds__(kThreads) look(VisibleLimit::Args<float> x) {
  const int64_t r = int64_t(blockIdx.x) * (kThreads / 32) + threadIdx.x / 32;
  const int lane = int(threadIdx.x) % 32;
  if (r >= x.shape.rays) return;
  const float stop = *x.stop;
  float depth = x.optical_depth[r];
  const float* raw = x.raw + x.begin[r];
  const float* delta = x.delta + x.ray_begin[r] + x.shape.first;
  const int n = x.begin[r + 1] - x.begin[r];
  if (n == 0) return;
  int taken = 0;
  for (int base = 0; base < n && depth <= stop; base += 32) {
    float sum = base + lane < n ? expf(raw[base + lane]) * delta[base + lane] : 0;
    for (int by = 1; by < 32; by *= 2) {
      const float below = __shfl_up_sync(~0U, sum, by);
      if (lane >= by) sum += below;
    }
    sum += depth;
    const unsigned above = __ballot_sync(~0U, sum > stop);
    const int last = above != 0 ? __ffs(int(above)) - 1 : 31;
    depth = __shfl_sync(~0U, sum, last);
    taken = base + last + 1;
  }
  __syncwarp();  // all lanes have read what lane 0 now writes
  if (lane != 0) return;
  if (depth > stop) x.limit[r] = int(x.shape.first) + taken;
  x.optical_depth[r] = depth;
}

void run(const VisibleLimit::Args<float>& x) {
  if (x.shape.rays == 0) return;
  const int64_t threads = 32 * x.shape.rays;
  cuda::launch(look, dim3(unsigned((threads + kThreads - 1) / kThreads)), dim3(kThreads), 0, x);
}

KLAB_VARIANT(VisibleLimit, {.run = run, .parent = "01_thread_per_ray", .tiles = {32, kThreads / 32}});

}  // namespace
}  // namespace klab
