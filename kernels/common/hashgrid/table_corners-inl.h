// Corners of the hash table whose layout is data, for as many points as a vector has lanes.
// hashgrid/cell-inl.h does the same for one hash function and sizes that are powers of two. Shared by the
// SIMD rungs of hashtable_fwd and hashtable_bwd; included once for every instruction set, as Highway's
// foreach_target requires.
#if defined(KLAB_KERNELS_COMMON_HASHGRID_TABLE_CORNERS_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef KLAB_KERNELS_COMMON_HASHGRID_TABLE_CORNERS_INL_H
#undef KLAB_KERNELS_COMMON_HASHGRID_TABLE_CORNERS_INL_H
#else
#define KLAB_KERNELS_COMMON_HASHGRID_TABLE_CORNERS_INL_H
#endif

#include "hwy/highway.h"
#include "kernels/common/hashgrid/cell-inl.h"
#include "reference/hashtable_fwd/table_layout.h"

HWY_BEFORE_NAMESPACE();
namespace klab {
namespace {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// Converts the fraction to the interpolation's weight.
HWY_INLINE HashgridF hashtable_fraction(int64_t blend, HashgridF f) {
  const HashgridF32 d;
  if (blend == table_blend::nearest) return hn::Zero(d);
  if (blend == table_blend::linear) return f;
  return hn::Mul(hn::Mul(f, f), hn::Sub(hn::Set(d, 3.0F), hn::Add(f, f)));
}

/// Bits of v, two zeros between each.
HWY_INLINE HashgridU hashtable_spread(HashgridU v) {
  const HashgridU32 du;
  v = hn::And(v, hn::Set(du, 0x3FFU));
  v = hn::And(hn::Or(v, hn::ShiftLeft<16>(v)), hn::Set(du, 0x030000FFU));
  v = hn::And(hn::Or(v, hn::ShiftLeft<8>(v)), hn::Set(du, 0x0300F00FU));
  v = hn::And(hn::Or(v, hn::ShiftLeft<4>(v)), hn::Set(du, 0x030C30C3U));
  return hn::And(hn::Or(v, hn::ShiftLeft<2>(v)), hn::Set(du, 0x09249249U));
}

/// pcg3d after its first step, which each coordinate does alone.
HWY_INLINE HashgridU hashtable_pcg(HashgridU x, HashgridU y, HashgridU z) {
  x = hn::Add(x, hn::Mul(y, z));
  y = hn::Add(y, hn::Mul(z, x));
  z = hn::Add(z, hn::Mul(x, y));
  x = hn::Xor(x, hn::ShiftRight<16>(x));
  y = hn::Xor(y, hn::ShiftRight<16>(y));
  z = hn::Xor(z, hn::ShiftRight<16>(z));
  return hn::Add(x, hn::Mul(y, z));
}

/// The parts of the word from each coordinate alone, at the lower end (`end` 0) and the upper end of its
/// axis.
struct HashtableParts {
  HashgridU x[2], y[2], z[2];
};

HWY_INLINE HashtableParts hashtable_parts(const TableLevel& level, int64_t hash, HashgridU x, HashgridU y,
                                          HashgridU z) {
  const HashgridU32 du;
  const auto one = hn::Set(du, 1);
  HashtableParts p = {{x, hn::Add(x, one)}, {y, hn::Add(y, one)}, {z, hn::Add(z, one)}};
  for (int end = 0; end < 2; ++end) {
    if (level.dense) {
      p.y[end] = hn::Mul(p.y[end], hn::Set(du, level.points));
      p.z[end] = hn::Mul(p.z[end], hn::Set(du, level.points * level.points));
    } else if (hash == table_hash::primes) {
      p.y[end] = hn::Mul(p.y[end], hn::Set(du, 2654435761U));
      p.z[end] = hn::Mul(p.z[end], hn::Set(du, 805459861U));
    } else if (hash == table_hash::morton) {
      p.x[end] = hashtable_spread(p.x[end]);
      p.y[end] = hn::ShiftLeft<1>(hashtable_spread(p.y[end]));
      p.z[end] = hn::ShiftLeft<2>(hashtable_spread(p.z[end]));
    } else if (hash == table_hash::pcg) {
      const auto factor = hn::Set(du, 1664525U), added = hn::Set(du, 1013904223U);
      p.x[end] = hn::Add(hn::Mul(p.x[end], factor), added);
      p.y[end] = hn::Add(hn::Mul(p.y[end], factor), added);
      p.z[end] = hn::Add(hn::Mul(p.z[end], factor), added);
    } else {
      const int of_x = int(level.bits + 2) / 3, of_y = int(level.bits + 1) / 3, of_z = int(level.bits) / 3;
      const auto low = [&](int bits) HWY_ATTR { return hn::Set(du, (uint32_t(1) << bits) - 1); };
      p.x[end] = hn::And(p.x[end], low(of_x));
      p.y[end] = hn::ShiftLeftSame(hn::And(p.y[end], low(of_y)), of_x);
      p.z[end] = hn::ShiftLeftSame(hn::And(p.z[end], low(of_z)), of_x + of_y);
    }
  }
  return p;
}

/// Entries of the 8 corners, corner c = upper end of axis d where bit d of c is set; of the nearest, 8 times the lower corner's.
HWY_INLINE void hashtable_corners(const TableLevel& level, int64_t hash, int64_t blend, HashgridU x,
                                  HashgridU y, HashgridU z, HashgridU* entry) {
  const HashgridU32 du;
  const HashtableParts p = hashtable_parts(level, hash, x, y, z);
  const auto entries = hn::Set(du, level.entries), mask = hn::Set(du, level.mask),
             half = hn::Set(du, level.half);
  const bool nearest = blend == table_blend::nearest;
  for (int c = 0; c < (nearest ? 1 : 8); ++c) {
    const auto px = p.x[c & 1], py = p.y[c >> 1 & 1], pz = p.z[c >> 2];
    if (level.dense) {
      const auto index = hn::Add(hn::Add(px, py), pz);
      // Unsigned: index - entries is huge unless index is too large.
      entry[c] = hn::Min(index, hn::Sub(index, entries));
      continue;
    }
    const auto word = hash == table_hash::pcg ? hashtable_pcg(px, py, pz) : hn::Xor(hn::Xor(px, py), pz);
    const auto index = hn::And(word, mask);
    entry[c] = hn::IfThenElse(hn::Lt(index, entries), index, hn::Sub(index, half));
  }
  for (int c = 1; nearest && c < 8; ++c) entry[c] = entry[0];
}

}  // namespace HWY_NAMESPACE
}  // namespace
}  // namespace klab
HWY_AFTER_NAMESPACE();

#endif
