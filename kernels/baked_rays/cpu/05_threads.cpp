// baked_rays.cpu.05_threads: packets shared out.
//
// CHANGE    threads take packets of sixteen rays, eight at a time, as soon as they are ready.
// EXPECT    near the number of cores: rays do not depend on each other, and those through empty air take less time.
// NUMERICS  as the parent.
#include <algorithm>
#include <cmath>

#include "harness/core/registrar.h"
#include "kernels/common/sh_basis.h"
#include "kernels/common/simd.h"
#include "reference/baked_rays/baked_rays.h"

#include "kernels/common/exp-inl.h"
#include "kernels/common/formats/widen-inl.h"

KLAB_SIMD_BEGIN();

#include "kernels/baked_rays/cpu/01_naive-inl.h"

#include "kernels/baked_rays/cpu/02_skip_by_distance-inl.h"

#include "kernels/baked_rays/cpu/03_rows-inl.h"

#include "kernels/baked_rays/cpu/04_packets-inl.h"

KLAB_SIMD_ONCE(some_rays);

#if HWY_ONCE
constexpr int64_t kChunk = 128;  // rays

void run(const BakedRays::Args<float>& x) {
  const int64_t n = x.shape.rays;
#pragma omp parallel for schedule(dynamic) if (n > kChunk)
  for (int64_t begin = 0; begin < n; begin += kChunk)
    HWY_DYNAMIC_DISPATCH(some_rays)(x, begin, std::min(n, begin + kChunk));
}

KLAB_VARIANT(BakedRays, {.run = run,
                         .parent = "04_packets",
                         .numerics = {.growth = Growth::linear},
                         .tiles = {16, kChunk},
                         .expect = {.shape = {8192, 128, 1 << 18, 4}, .over_parent = 1.5}});
KLAB_SIMD_CLOSE();
#endif
