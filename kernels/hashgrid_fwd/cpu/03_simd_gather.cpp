// hashgrid_fwd.cpu.03_simd_gather: as many points at a time as a vector has lanes.
//
// CHANGE    lanes are points: cells, hashes and interpolation in vectors, corners fetched by gather
//           instructions, eight bytes (two features) a lane; interpolation axis after axis, 2^dim - 1 steps
//           instead of 2^dim weights.
// EXPECT    the arithmetic nearly vanishes; the reads remain. At least twice as fast as its parent.
// NUMERICS  float; an interpolation is (1-f)*a + f*b with one fused multiply-add, which keeps the bound of
//           the contract.
// TRIED     see NOTES.md, cpu.03_simd_gather
#include <vector>

#include "harness/core/registrar.h"
#include "kernels/common/simd.h"
#include "reference/hashgrid_fwd/hashgrid_fwd.h"

#include "kernels/common/hashgrid/cell-inl.h"

KLAB_SIMD_BEGIN();

#include "kernels/common/hashgrid/03_simd_gather-inl.h"
#include "kernels/hashgrid_fwd/cpu/03_simd_gather-inl.h"

template <int kDim, int kFeatures, bool kDense>
void level_of(const HashgridLevel& level, const HashgridFwd::Args<float>& x, float* out) {
  const int64_t lanes = int64_t(hn::Lanes(HashgridF32()));
  const int64_t n = x.shape.n;
  const float* table = x.table + level.offset * kFeatures;
  int64_t i = 0;
  for (; i + lanes <= n; i += lanes)
    points<kDim, kFeatures, kDense>(level, x.positions + i, n, table, out + i, n);
  if (i == n) return;
  // The last points, in a vector filled up with points at the origin.
  HWY_ALIGN float position[kDim * kHashgridLanes] = {};
  HWY_ALIGN float result[kFeatures * kHashgridLanes];
  for (int k = 0; k < kDim; ++k)
    for (int64_t j = i; j < n; ++j) position[k * kHashgridLanes + j - i] = x.positions[k * n + j];
  points<kDim, kFeatures, kDense>(level, position, kHashgridLanes, table, result, kHashgridLanes);
  for (int f = 0; f < kFeatures; ++f)
    for (int64_t j = i; j < n; ++j) out[f * n + j] = result[f * kHashgridLanes + j - i];
}

template <int kDim, int kFeatures>
void encode(const HashgridFwd::Args<float>& x) {
  float* out = x.features;
  for (const HashgridLevel& level : hashgrid_levels(x.shape)) {
    const auto one = level.dense ? level_of<kDim, kFeatures, true> : level_of<kDim, kFeatures, false>;
    one(level, x, out);
    out += kFeatures * x.shape.n;
  }
}

#include "kernels/hashgrid_fwd/cpu/03_simd_gather_dims-inl.h"

KLAB_SIMD_ONCE(encode_all);

#if HWY_ONCE
void run(const HashgridFwd::Args<float>& x) { HWY_DYNAMIC_DISPATCH(encode_all)(x); }

KLAB_VARIANT(HashgridFwd, {.run = run,
                           .parent = "02_level_major",
                           .expect = {.shape = {1 << 18, 3, 16, 2, 19, 16, 2048, 0}, .over_parent = 2}});
KLAB_SIMD_CLOSE();
#endif
