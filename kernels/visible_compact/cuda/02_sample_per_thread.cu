// visible_compact.cuda.02_sample_per_thread: one thread per sample, all rows.
//
// CHANGE   a thread finds the ray of its sample by binary search, once, and copies the sample's column.
// EXPECT   a warp's stores are whole lines and its loads nearly; the search is done once for all rows.
#include "harness/core/registrar.h"
#include "kernels/common/cuda.h"
#include "reference/visible_compact/visible_compact.h"

namespace klab {
namespace {

constexpr int kThreads = 256;

/// The ray that sample i belongs to.
__device__ __forceinline__ int64_t ray_of(const int32_t* __restrict__ begin, int64_t rays, int64_t i) {
  int64_t low = 0, high = rays;  // begin[low] <= i < begin[high]
  while (high - low > 1) {
    const int64_t middle = (low + high) / 2;
    if (begin[middle] <= i)
      low = middle;
    else
      high = middle;
  }
  return low;
}

__global__ void __launch_bounds__(kThreads) compact(VisibleCompact::Args<float> x) {
  const VisibleCompact::Shape& s = x.shape;
  const int64_t at = int64_t(blockIdx.x) * kThreads + threadIdx.x;
  if (at >= s.samples || at >= x.visible_begin[s.rays]) return;
  const int64_t r = ray_of(x.visible_begin, s.rays, at), i = at - x.visible_begin[r] - s.first;
  if (i < 0 || i >= s.most) return;
  const int64_t from = x.begin[r] + i;
  const bool there = from < x.begin[r + 1];
  for (int64_t row = 0; row < s.rows; ++row)
    x.target[row * s.samples + at] = there ? x.source[row * s.looked + from] : 0;
}

void run(const VisibleCompact::Args<float>& x) {
  if (x.shape.samples == 0 || x.shape.rows == 0 || x.shape.rays == 0) return;
  cuda::launch(compact, dim3(unsigned((x.shape.samples + kThreads - 1) / kThreads)), dim3(kThreads), 0, x);
}

KLAB_VARIANT(VisibleCompact, {.run = run, .parent = "01_thread_per_ray", .tiles = {kThreads}});

}  // namespace
}  // namespace klab
