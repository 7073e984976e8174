// visible_limit.cpu.02_simd: exponentials of one ray in a vector.
//
// CHANGE   optical depths of 16 samples at once; only their sum is sequential, and ends where the ray does.
// EXPECT   a call of exp takes some ten times as long as an addition that waits for the last: several times.
// NUMERICS the exponential of kernels/common/exp-inl.h (1.7u); sums in the order of the contract.
// NEEDS    nothing; up to 15 exponentials a ray are wasted.
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

void run(const VisibleLimit::Args<float>& x) { HWY_DYNAMIC_DISPATCH(look)(x, 0, x.shape.rays); }

KLAB_VARIANT(VisibleLimit, {.run = run, .parent = "01_naive", .tiles = {16}});

}  // namespace
}  // namespace klab
#endif
