// visible_limit.cpu.03_threads: rays shared out among the cores.
//
// CHANGE   each thread takes runs of 64 rays.
// EXPECT   near the number of cores where there is work enough; a batch of some ten thousand samples takes less than it
//          takes to wake a thread, and stays on one.
// NUMERICS the exponential of kernels/common/exp-inl.h (1.7u); sums in the order of the contract.
#include <algorithm>

#include "harness/core/registrar.h"
#include "kernels/common/simd.h"
#include "reference/visible_limit/visible_limit.h"

#include "kernels/common/exp-inl.h"
#include "kernels/common/lanes-inl.h"

KLAB_SIMD_BEGIN();

void look(const VisibleLimit::Args<float>& x, int64_t begin_ray, int64_t end_ray) {
  const hn::CappedTag<float, 16> d;
  const int64_t lanes = int64_t(hn::Lanes(d));
  const float stop = *x.stop;
  HWY_ALIGN float step[16];
  for (int64_t r = begin_ray; r < end_ray; ++r) {
    const float* const raw = x.raw + x.begin[r];
    const float* const delta = x.delta + x.ray_begin[r] + x.shape.first;
    const int64_t n = x.begin[r + 1] - x.begin[r];
    float depth = x.optical_depth[r];
    int64_t i = 0;
    for (int64_t from = 0; from < n && depth <= stop; from += lanes) {
      const size_t count = size_t(std::min(lanes, n - from));
      hn::Store(
          hn::Mul(exp_saturated(d, load_first(d, raw + from, count)), load_first(d, delta + from, count)), d,
          step);
      for (i = from; i < from + int64_t(count) && depth <= stop; ++i) depth += step[i - from];
    }
    if (n > 0 && depth > stop) x.limit[r] = int32_t(x.shape.first + i);
    x.optical_depth[r] = depth;
  }
}

KLAB_SIMD_END(look);

#if HWY_ONCE
namespace klab {
namespace {

constexpr int64_t kRun = 64, kFewSamples = 1 << 16;

void run(const VisibleLimit::Args<float>& x) {
  const int64_t rays = x.shape.rays;
#pragma omp parallel for schedule(dynamic, 8) if (x.shape.samples > kFewSamples)
  for (int64_t r = 0; r < rays; r += kRun) HWY_DYNAMIC_DISPATCH(look)(x, r, std::min(rays, r + kRun));
}

KLAB_VARIANT(VisibleLimit, {.run = run, .parent = "02_simd", .tiles = {kRun, kFewSamples}});

}  // namespace
}  // namespace klab
#endif
