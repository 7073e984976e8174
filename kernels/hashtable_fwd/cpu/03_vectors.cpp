// hashtable_fwd.cpu.03_vectors: as many points at a time as a vector has lanes.
//
// CHANGE    lanes are points: words, entries and weights in vectors, whichever function a level has; entries are gathered a feature at
//           a time and interpolated axis after axis.
// EXPECT    the arithmetic of eight words nearly vanishes behind the reads, so that all functions but the one that scatters
//           neighbors cost the same. At least 2 times faster than its parent.
// NUMERICS  float; an interpolation is (1-f)*a + f*b with one fused multiply-add, which keeps the bound of the contract.
// NEEDS     fewer than 2^31 floats in a level: offsets of a gather are 32 bits.
#include <string>
#include <vector>

#include "harness/core/registrar.h"
#include "kernels/common/simd.h"
#include "reference/hashtable_fwd/hashtable_fwd.h"

#include "kernels/common/hashgrid/table_corners-inl.h"

KLAB_SIMD_BEGIN();

#include "kernels/common/hashgrid/03_simd_gather-inl.h"

/// How a table is read.
struct Ways {
  int64_t hash, blend;
};

/// One vector of points: positions[d*stride] to out[f*out_stride], one feature at a time.
template <int kFeatures>
HWY_INLINE void points(const TableLevel& level, Ways ways, const float* positions, int64_t stride,
                       const float* table, float* out, int64_t out_stride) {
  const HashgridF32 d;
  const HashgridU32 du;
  const hn::RebindToSigned<HashgridF32> di;
  HashgridAxis axis[3];
  HashgridF fraction[3];
  for (int k = 0; k < 3; ++k) {
    axis[k] = hashgrid_axis(positions + k * stride, level.scale);
    fraction[k] = hashtable_fraction(ways.blend, axis[k].fraction);
  }
  HashgridU entry[8];
  hashtable_corners(level, ways.hash, ways.blend, axis[0].cell, axis[1].cell, axis[2].cell, entry);
  for (int f = 0; f < kFeatures; ++f) {
    HashgridF v[8];
    for (int c = 0; c < 8; ++c)
      v[c] = hn::GatherIndex(d, table + f, hn::BitCast(di, hn::Mul(entry[c], hn::Set(du, kFeatures))));
    interpolate<3>(v, fraction);
    hn::StoreU(v[0], d, out + f * out_stride);
  }
}

template <int kFeatures>
void level_of(const TableLevel& level, const HashtableFwd::Args<float>& x, float* out) {
  const int64_t lanes = int64_t(hn::Lanes(HashgridF32()));
  const int64_t n = x.shape.n;
  const Ways ways{x.shape.hash, x.shape.blend};
  const float* table = x.table + level.offset * kFeatures;
  int64_t i = 0;
  for (; i + lanes <= n; i += lanes) points<kFeatures>(level, ways, x.positions + i, n, table, out + i, n);
  if (i == n) return;
  // The last points, in a vector filled up with points at the origin.
  HWY_ALIGN float position[3 * kHashgridLanes] = {};
  HWY_ALIGN float result[kFeatures * kHashgridLanes];
  for (int k = 0; k < 3; ++k)
    for (int64_t j = i; j < n; ++j) position[k * kHashgridLanes + j - i] = x.positions[k * n + j];
  points<kFeatures>(level, ways, position, kHashgridLanes, table, result, kHashgridLanes);
  for (int f = 0; f < kFeatures; ++f)
    for (int64_t j = i; j < n; ++j) out[f * n + j] = result[f * kHashgridLanes + j - i];
}

#include "kernels/hashtable_fwd/cpu/03_vectors-inl.h"

KLAB_SIMD_ONCE(encode_all);

#if HWY_ONCE
void run(const HashtableFwd::Args<float>& x) { HWY_DYNAMIC_DISPATCH(encode_all)(x); }

std::string supported(const HashtableShape& s, const Host&) {
  return s.entries * s.features < int64_t(1) << 31 ? ""
                                                   : "gathers by 32 bits, and a level may have 2^31 floats";
}

KLAB_VARIANT(HashtableFwd, {.run = run,
                            .parent = "02_levels",
                            .expect = {.shape = {1 << 18, 16, 2, 1 << 22, 0, 0, 1}, .over_parent = 2},
                            .supported = supported});
KLAB_SIMD_CLOSE();
#endif
