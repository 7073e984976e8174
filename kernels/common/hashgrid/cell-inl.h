// Cells of the hash encoding for as many points as a vector has lanes: their coordinates, and the entries of
// their corners. Lane k is point k. Shared by the SIMD rungs of hashgrid_fwd and hashgrid_bwd; included once
// for every instruction set, as Highway's foreach_target requires.
#if defined(KLAB_KERNELS_COMMON_HASHGRID_CELL_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef KLAB_KERNELS_COMMON_HASHGRID_CELL_INL_H
#undef KLAB_KERNELS_COMMON_HASHGRID_CELL_INL_H
#else
#define KLAB_KERNELS_COMMON_HASHGRID_CELL_INL_H
#endif

#include <cstdint>

#include "hwy/highway.h"
#include "reference/hashgrid_fwd/layout.h"

HWY_BEFORE_NAMESPACE();
namespace klab {
namespace {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using HashgridF32 = hn::ScalableTag<float>;
using HashgridU32 = hn::ScalableTag<uint32_t>;
using HashgridF = hn::Vec<HashgridF32>;
using HashgridU = hn::Vec<HashgridU32>;

/// A constant as large as the largest vector, for buffers on the stack.
inline constexpr int64_t kHashgridLanes = HWY_MAX_BYTES / 4;

/// One axis: which cell, and where in it.
struct HashgridAxis {
  HashgridU cell;
  HashgridF fraction;  // in [0, 1)
};

HWY_INLINE HashgridAxis hashgrid_axis(const float* positions, float scale) {
  const HashgridF32 d;
  const hn::RebindToSigned<HashgridF32> di;
  const HashgridU32 du;
  const auto p = hn::MulAdd(hn::LoadU(d, positions), hn::Set(d, scale), hn::Set(d, 0.5F));
  const auto cell = hn::ConvertTo(di, p);  // truncation is floor: p is positive
  return {hn::BitCast(du, cell), hn::Sub(p, hn::ConvertTo(d, cell))};
}

/// Entries of the 2^kDim corners, corner c = upper end of axis d where bit d of c is set.
template <int kDim, bool kDense>
HWY_INLINE void hashgrid_corners(const HashgridLevel& level, HashgridU x, HashgridU y, HashgridU z,
                                 HashgridU* entry) {
  const HashgridU32 du;
  const auto one = hn::Set(du, 1);
  if constexpr (kDense) {
    const auto row = hn::Set(du, uint32_t(level.resolution));
    const auto plane = hn::Set(du, uint32_t(level.resolution * level.resolution));
    const auto entries = hn::Set(du, uint32_t(level.entries));
    entry[0] = hn::Add(x, hn::Mul(y, row));
    if constexpr (kDim == 3) entry[0] = hn::Add(entry[0], hn::Mul(z, plane));
    entry[1] = hn::Add(entry[0], one);
    entry[2] = hn::Add(entry[0], row);
    entry[3] = hn::Add(entry[1], row);
    if constexpr (kDim == 3)
      for (int c = 0; c < 4; ++c) entry[c + 4] = hn::Add(entry[c], plane);
    // Beyond the last entry the layout begins again. Unsigned: e - entries is huge unless e is too large.
    for (int c = 0; c < 1 << kDim; ++c) entry[c] = hn::Min(entry[c], hn::Sub(entry[c], entries));
  } else {
    const auto mask = hn::Set(du, level.mask);
    const auto prime_y = hn::Set(du, kHashgridPrimes[1]);
    const auto y0 = hn::Mul(y, prime_y);
    const auto x0 = hn::And(x, mask);
    const auto x1 = hn::And(hn::Add(x, one), mask);
    HashgridU rest[4] = {y0, hn::Add(y0, prime_y), y0, y0};
    if constexpr (kDim == 3) {
      const auto prime_z = hn::Set(du, kHashgridPrimes[2]);
      const auto z0 = hn::Mul(z, prime_z);
      const auto z1 = hn::Add(z0, prime_z);
      rest[2] = hn::Xor(rest[0], z1);
      rest[3] = hn::Xor(rest[1], z1);
      rest[0] = hn::Xor(rest[0], z0);
      rest[1] = hn::Xor(rest[1], z0);
    }
    for (int k = 0; k < 1 << (kDim - 1); ++k) {
      rest[k] = hn::And(rest[k], mask);
      entry[2 * k] = hn::Xor(rest[k], x0);
      entry[2 * k + 1] = hn::Xor(rest[k], x1);
    }
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace
}  // namespace klab
HWY_AFTER_NAMESPACE();

#endif
