// baked_rays.cpu.03_rows: a vector holds the numbers of a row.
//
// CHANGE    corners outside, numbers inside: a row of sixteen bytes is one load and one conversion, times the corner's weight at
//           once. Factors and harmonics do not change along a ray, so they are multiplied with each other once a ray.
// EXPECT    eight loads a sample in place of 104: at least 2 times the parent.
// NUMERICS  float, sums in the order of the parent; products fused with sums.
#include <algorithm>
#include <cmath>

#include "harness/core/registrar.h"
#include "kernels/common/sh_basis.h"
#include "kernels/common/simd.h"
#include "reference/baked_rays/baked_rays.h"

#include "kernels/common/formats/widen-inl.h"

KLAB_SIMD_BEGIN();

#include "kernels/baked_rays/cpu/01_naive-inl.h"

#include "kernels/baked_rays/cpu/02_skip_by_distance-inl.h"

#include "kernels/baked_rays/cpu/03_rows-inl.h"

template <int kBasis>
void rays(const BakedRays::Args<float>& x) {
  for (int64_t r = 0; r < x.shape.rays; ++r) {
    const Beam beam = beam_of(x, r);
    const Search search(x, beam.path);
    HWY_ALIGN float counts[4 * kBasis];
    weigh_numbers<kBasis>(x, beam, counts);
    Light light;
    BakedRays::Place at;
    for (int64_t k = 0; search.next(beam.path, k, at); ++k) {
      float sums[4];
      sum_rows<kBasis>(corners_of<kBasis>(x, at), counts, sums);
      const float through = std::exp(-std::exp(sums[0]) * beam.path.step);
      const float weight = light.left * (1 - through);
      for (int c = 0; c < 3; ++c) light.color[c] += weight / (1 + std::exp(-sums[1 + c]));
      light.depth += weight * beam.path.t(k);
      light.left *= through;
      if (light.left < x.settings[3]) break;
    }
    write_ray(x, r, light);
  }
}

void all_rays(const BakedRays::Args<float>& x) { x.shape.basis == 4 ? rays<4>(x) : rays<1>(x); }

KLAB_SIMD_ONCE(all_rays);

#if HWY_ONCE
void run(const BakedRays::Args<float>& x) { HWY_DYNAMIC_DISPATCH(all_rays)(x); }

KLAB_VARIANT(BakedRays, {.run = run,
                         .parent = "02_skip_by_distance",
                         .numerics = {.growth = Growth::linear},
                         .expect = {.shape = {8192, 128, 1 << 18, 4}, .over_parent = 2}});
KLAB_SIMD_CLOSE();
#endif
