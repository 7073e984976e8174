// gs_rasterize_abs_bwd.cpu.04_threads: tiles shared out among the cores, gradients of their own for each.
//
// CHANGE    as gs_rasterize_bwd.cpu.04_threads: thread k of m takes tiles k, k + m, k + 2m ... and adds to an array of its own.
// EXPECT    near the number of cores.
// NUMERICS  sums over a thread's tiles, then over threads.
// NEEDS     64 bytes a Gaussian and thread.
#include <omp.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "harness/core/registrar.h"
#include "kernels/common/gaussian/records.h"
#include "kernels/common/simd.h"
#include "reference/gs_rasterize_abs_bwd/gs_rasterize_abs_bwd.h"

#include "kernels/common/exp-inl.h"
#include "kernels/common/lanes-inl.h"

KLAB_SIMD_BEGIN();

#include "kernels/gs_rasterize_abs_bwd/cpu/03_vectors-inl.h"

void walk_some(const GsRasterizeAbsBwd::Args<float>& x, const GsRecord* records, int64_t first, int64_t step,
               GsGradient* out) {
  for (int64_t t = first; t < x.shape.tiles(); t += step) walk(x, records, t, out);
}

KLAB_SIMD_ONCE(walk_some);

#if HWY_ONCE
GsGradient total(const std::vector<std::vector<GsGradient>>& sums, int64_t g) {
  GsGradient all = sums[0][size_t(g)];
  for (size_t k = 1; k < sums.size(); ++k) {
    const GsGradient& more = sums[k][size_t(g)];
    all.x += more.x, all.y += more.y, all.xx += more.xx, all.xy += more.xy, all.yy += more.yy;
    all.opacity += more.opacity;
    for (int c = 0; c < 3; ++c) all.color[c] += more.color[c];
    for (int c = 0; c < 2; ++c) all.pull[c] += more.pull[c];
  }
  return all;
}

void run(const GsRasterizeAbsBwd::Args<float>& x) {
  const int64_t n = x.shape.n;
  const int most = x.shape.tiles() > 4 || n > 1000 ? omp_get_max_threads() : 1;
  std::vector<GsRecord> records(static_cast<size_t>(n));
  std::vector<std::vector<GsGradient>> sums;
#pragma omp parallel num_threads(most)
  {
#pragma omp single
    sums.resize(size_t(omp_get_num_threads()));
    const auto mine = size_t(omp_get_thread_num());
    sums[mine].resize(static_cast<size_t>(n));
#pragma omp for schedule(static)
    for (int64_t g = 0; g < n; ++g) records[size_t(g)] = gs_record(x, g);
    HWY_DYNAMIC_DISPATCH(walk_some)
    (x, records.data(), int64_t(mine), int64_t(sums.size()), sums[mine].data());
#pragma omp barrier
#pragma omp for schedule(static)
    for (int64_t g = 0; g < n; ++g) {
      const GsGradient sum = total(sums, g);
      x.d_mean[g] = sum.x, x.d_mean[n + g] = sum.y;
      x.d_conic[g] = sum.xx, x.d_conic[n + g] = sum.xy, x.d_conic[2 * n + g] = sum.yy;
      x.d_opacity[g] = sum.opacity;
      for (int64_t c = 0; c < 3; ++c) x.d_color[c * n + g] = sum.color[c];
      x.pull[g] = sum.pull[0], x.pull[n + g] = sum.pull[1];
    }
  }
}

KLAB_VARIANT(GsRasterizeAbsBwd, {.run = run,
                                 .parent = "03_vectors",
                                 .forward = "04_threads",
                                 .numerics = {.growth = Growth::linear},
                                 .tiles = {64},
                                 .expect = {.shape = {50000, 150000, 400, 400}, .over_parent = 1.5}});
KLAB_SIMD_CLOSE();
#endif
