// hashgrid_fwd.cpu.04_half_table: two bytes a feature instead of four.
//
// CHANGE    reads the half-precision copy of the table: a 32-bit gather loads two features, and one
//           instruction widens them to float. Interpolation stays in float.
// EXPECT    half as many cache lines hold a level, so more of it is near the core: at least 1.2 times faster
//           where a level's float table is beyond L2, nothing where it is in L1: the number of gathers is the
//           same.
// NUMERICS  the table's values carry half precision, which is the table's error and not this rung's; widening
//           is exact and everything after it is float, so it is held to the float bound on the same values.
// NEEDS     two features or more to be fast; one feature is fetched lane by lane.
#include <vector>

#include "harness/core/registrar.h"
#include "kernels/common/simd.h"
#include "reference/float16.h"
#include "reference/hashgrid_fwd/hashgrid_fwd.h"

#include "kernels/common/hashgrid/cell-inl.h"

KLAB_SIMD_BEGIN();

#include "kernels/common/hashgrid/03_simd_gather-inl.h"

/// One feature of one lane at a time.
template <int kDim, int kFeatures>
HWY_INLINE void by_feature(const HashgridU* entry, const HashgridF* fraction, const uint16_t* table,
                           float* out, int64_t out_stride) {
  const HashgridF32 d;
  const HashgridU32 du;
  HWY_ALIGN uint32_t index[kHashgridLanes];
  HWY_ALIGN float value[kHashgridLanes];
  for (int f = 0; f < kFeatures; ++f) {
    HashgridF v[8];
    for (int c = 0; c < 1 << kDim; ++c) {
      hn::Store(entry[c], du, index);
      for (size_t i = 0; i < hn::Lanes(d); ++i)
        value[i] = float_from_half(table[int64_t(index[i]) * kFeatures + f]);
      v[c] = hn::Load(d, value);
    }
    interpolate<kDim>(v, fraction);
    hn::StoreU(v[0], d, out + f * out_stride);
  }
}

/// Two features at a time: a gathered lane of 32 bits holds both of one point. Widened, `low` has both
/// features of the first half of the points and `high` of the second. Fractions are spread the same way.
template <int kDim, int kFeatures>
HWY_INLINE void by_pair(const HashgridU* entry, const HashgridF* fraction, const uint16_t* table, float* out,
                        int64_t out_stride) {
#if HWY_TARGET != HWY_SCALAR  // a vector of one lane has no narrower lanes
  const HashgridF32 d;
  const HashgridU32 du;
  const hn::RebindToSigned<HashgridU32> di;
  const hn::Repartition<hwy::float16_t, HashgridU32> d16;
  const hn::Half<decltype(d16)> d16_half;
  const auto* words = reinterpret_cast<const int32_t*>(table);
  // Lane i takes lane i/2, in the upper half i/2 + half the lanes.
  const auto lower = hn::ShiftRight<1>(hn::Iota(di, 0));
  const auto lower_index = hn::IndicesFromVec(d, lower);
  const auto upper_index = hn::IndicesFromVec(d, hn::Add(lower, hn::Set(di, int32_t(hn::Lanes(d) / 2))));
  HashgridF fraction_low[3];
  HashgridF fraction_high[3];
  for (int k = 0; k < kDim; ++k) {
    fraction_low[k] = hn::TableLookupLanes(fraction[k], lower_index);
    fraction_high[k] = hn::TableLookupLanes(fraction[k], upper_index);
  }
  for (int pair = 0; pair < kFeatures / 2; ++pair) {
    HashgridF low[8];
    HashgridF high[8];
    for (int c = 0; c < 1 << kDim; ++c) {
      const auto word = hn::BitCast(di, hn::Mul(entry[c], hn::Set(du, kFeatures / 2)));
      const auto both = hn::BitCast(d16, hn::GatherIndex(di, words + pair, word));
      low[c] = hn::PromoteTo(d, hn::LowerHalf(d16_half, both));
      high[c] = hn::PromoteTo(d, hn::UpperHalf(d16_half, both));
    }
    interpolate<kDim>(low, fraction_low);
    interpolate<kDim>(high, fraction_high);
    hn::StoreU(hn::ConcatEven(d, high[0], low[0]), d, out + (2 * pair) * out_stride);
    hn::StoreU(hn::ConcatOdd(d, high[0], low[0]), d, out + (2 * pair + 1) * out_stride);
  }
#endif
}

/// One vector of points: positions[d*stride] to out[f*out_stride].
template <int kDim, int kFeatures, bool kDense>
HWY_INLINE void points(const HashgridLevel& level, const float* positions, int64_t stride,
                       const uint16_t* table, float* out, int64_t out_stride) {
  HashgridAxis axis[3];
  for (int k = 0; k < kDim; ++k) axis[k] = hashgrid_axis(positions + k * stride, level.scale);
  if constexpr (kDim == 2) axis[2] = axis[1];
  HashgridU entry[8];
  hashgrid_corners<kDim, kDense>(level, axis[0].cell, axis[1].cell, axis[2].cell, entry);

  const HashgridF fraction[3] = {axis[0].fraction, axis[1].fraction, axis[2].fraction};
  if constexpr (kFeatures == 1 || HWY_TARGET == HWY_SCALAR) {
    by_feature<kDim, kFeatures>(entry, fraction, table, out, out_stride);
  } else {
    by_pair<kDim, kFeatures>(entry, fraction, table, out, out_stride);
  }
}

template <int kDim, int kFeatures, bool kDense>
void level_of(const HashgridLevel& level, const HashgridFwd::Args<float>& x, float* out) {
  const int64_t lanes = int64_t(hn::Lanes(HashgridF32()));
  const int64_t n = x.shape.n;
  const uint16_t* table = x.table_half + level.offset * kFeatures;
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
    if (level.dense) {
      level_of<kDim, kFeatures, true>(level, x, out);
    } else {
      level_of<kDim, kFeatures, false>(level, x, out);
    }
    out += kFeatures * x.shape.n;
  }
}

#include "kernels/hashgrid_fwd/cpu/03_simd_gather_dims-inl.h"

KLAB_SIMD_ONCE(encode_all);

#if HWY_ONCE
void run(const HashgridFwd::Args<float>& x) { HWY_DYNAMIC_DISPATCH(encode_all)(x); }

KLAB_VARIANT(HashgridFwd, {.run = run,
                           .parent = "03_simd_gather",
                           .needs = {"table_half"},
                           .expect = {.shape = {1 << 18, 3, 16, 2, 19, 16, 2048, 0}, .over_parent = 1.2}});
KLAB_SIMD_CLOSE();
#endif
