// visible_compact.cuda.01_thread_per_ray: one thread per ray, rows in the grid.
//
// CHANGE   a thread copies a ray's samples of a row.
// EXPECT   neighboring lanes copy neighboring rays, whose samples lie a ray apart: sectors are touched once
//          for every sample of a ray.
#include "harness/core/registrar.h"
#include "kernels/common/cuda.h"
#include "reference/visible_compact/visible_compact.h"

namespace klab {
namespace {

constexpr int kThreads = 256;

__global__ void __launch_bounds__(kThreads) compact(VisibleCompact::Args<float> x) {
  const VisibleCompact::Shape& s = x.shape;
  const int64_t r = int64_t(blockIdx.x) * kThreads + threadIdx.x, row = blockIdx.y;
  if (r >= s.rays) return;
  const int64_t to = x.visible_begin[r], from = x.begin[r], had = x.begin[r + 1] - from;
  int64_t n = x.visible_begin[r + 1] - to;
  if (n > s.first + s.most) n = s.first + s.most;
  for (int64_t i = s.first; i < n; ++i)
    x.target[row * s.samples + to + i] =
        i - s.first < had ? x.source[row * s.looked + from + i - s.first] : 0;
}

void run(const VisibleCompact::Args<float>& x) {
  if (x.shape.rays == 0 || x.shape.rows == 0) return;
  cuda::launch(compact, dim3(unsigned((x.shape.rays + kThreads - 1) / kThreads), unsigned(x.shape.rows)),
               dim3(kThreads), 0, x);
}

KLAB_VARIANT(VisibleCompact, {.run = run, .tiles = {kThreads}});

}  // namespace
}  // namespace klab
