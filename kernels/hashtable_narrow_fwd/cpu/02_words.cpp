// hashtable_narrow_fwd.cpu.02_words: a word of 32 bits for each lane, whatever it holds.
//
// CHANGE    lanes are points; levels are shared out to threads. A gather brings the word that holds an entry's numbers, or two of
//           its numbers, or half of a word's neighbors; shifts take each number out, and a conversion widens it.
// EXPECT    one gather a corner in place of one for each feature: with two features half as many in 16 bits as hashtable_fwd's
//           vectors make, and as many bytes fewer in the caches. At least 4 times faster than the parent.
// NUMERICS  float; an interpolation is (1-f)*a + f*b with one fused multiply-add; a level's factor behind it.
// NEEDS     fewer than 2^31 words in a level: offsets of a gather are 32 bits.
#include <string>
#include <utility>
#include <vector>

#include "harness/core/registrar.h"
#include "kernels/common/simd.h"
#include "reference/hashtable_narrow_fwd/hashtable_narrow_fwd.h"

#include "kernels/common/formats/widen-inl.h"
#include "kernels/common/hashgrid/table_corners-inl.h"

KLAB_SIMD_BEGIN();

#include "kernels/common/hashgrid/03_simd_gather-inl.h"

/// How an entry lies in words of 32 bits. Levels begin on whole words: their entries are multiples of 8.
template <int kFeatures, int64_t kFormat>
struct Entry {
  static constexpr int kBytes = kFormat == narrow_format::int8 ? 1 : 2, kAll = kFeatures * kBytes;
  static constexpr int kWords = kAll < 4 ? 1 : kAll / 4;             // of an entry
  static constexpr int kInWord = kAll < 4 ? kFeatures : 4 / kBytes;  // numbers of an entry in one of them
};

/// Interpolates number k of eight words and stores it.
template <int64_t kFormat, int k>
HWY_INLINE void feature_of(const HashgridU* word, const HashgridF* fraction, float factor, float* out) {
  const HashgridF32 d;
  HashgridF v[8];
  for (int c = 0; c < 8; ++c) v[c] = widen_word<kFormat, k>(d, word[c]);
  interpolate<3>(v, fraction);
  hn::StoreU(kFormat == narrow_format::int8 ? hn::Mul(v[0], hn::Set(d, factor)) : v[0], d, out);
}

/// The table, as a level's words, and how it is read.
struct Level {
  TableLevel of;
  const int32_t* words;
  const float* factors;  // [features]; null without
  int64_t hash, blend;
};

/// One vector of points: positions[d*stride] to out[f*out_stride].
template <int kFeatures, int64_t kFormat>
HWY_INLINE void points(const Level& level, const float* positions, int64_t stride, float* out,
                       int64_t out_stride) {
  using E = Entry<kFeatures, kFormat>;
  const HashgridU32 du;
  const hn::RebindToSigned<HashgridF32> di;
  HashgridAxis axis[3];
  HashgridF fraction[3];
  for (int k = 0; k < 3; ++k) {
    axis[k] = hashgrid_axis(positions + k * stride, level.of.scale);
    fraction[k] = hashtable_fraction(level.blend, axis[k].fraction);
  }
  HashgridU entry[8];
  hashtable_corners(level.of, level.hash, level.blend, axis[0].cell, axis[1].cell, axis[2].cell, entry);
  for (int w = 0; w < E::kWords; ++w) {
    HashgridU word[8];
    for (int c = 0; c < 8; ++c) {
      if constexpr (E::kAll < 4) {
        const auto at = hn::Mul(entry[c], hn::Set(du, E::kAll));
        const auto all = hn::GatherIndex(di, level.words, hn::BitCast(di, hn::ShiftRight<2>(at)));
        const auto bits = hn::ShiftLeft<3>(hn::And(at, hn::Set(du, 3)));
        word[c] = hn::Shr(hn::BitCast(du, all), bits);
      } else {
        const auto at = hn::Add(hn::Mul(entry[c], hn::Set(du, E::kWords)), hn::Set(du, uint32_t(w)));
        word[c] = hn::BitCast(du, hn::GatherIndex(di, level.words, hn::BitCast(di, at)));
      }
    }
    const int first = w * E::kInWord;
    const auto factor = [&](int f) { return level.factors == nullptr ? 1.0F : level.factors[f]; };
    const auto store = [&]<int... k>(std::integer_sequence<int, k...>) HWY_ATTR {
      (feature_of<kFormat, k>(word, fraction, factor(first + k), out + (first + k) * out_stride), ...);
    };
    store(std::make_integer_sequence<int, E::kInWord>());
  }
}

template <int kFeatures, int64_t kFormat>
void level_of(const Level& level, const float* positions, int64_t n, float* out) {
  const int64_t lanes = int64_t(hn::Lanes(HashgridF32()));
  int64_t i = 0;
  for (; i + lanes <= n; i += lanes) points<kFeatures, kFormat>(level, positions + i, n, out + i, n);
  if (i == n) return;
  // The last points, in a vector filled up with points at the origin.
  HWY_ALIGN float position[3 * kHashgridLanes] = {}, result[kFeatures * kHashgridLanes];
  for (int k = 0; k < 3; ++k)
    for (int64_t j = i; j < n; ++j) position[k * kHashgridLanes + j - i] = positions[k * n + j];
  points<kFeatures, kFormat>(level, position, kHashgridLanes, result, kHashgridLanes);
  for (int f = 0; f < kFeatures; ++f)
    for (int64_t j = i; j < n; ++j) out[f * n + j] = result[f * kHashgridLanes + j - i];
}

template <int kFeatures, int64_t kFormat>
void encode(const HashtableNarrowFwd::Args<float>& x) {
  const HashtableNarrowFwd::Shape& s = x.shape;
  const std::vector<TableLevel> levels = table_levels(s.levels, x.scales, x.sizes);
#pragma omp parallel for schedule(dynamic, 1)
  for (int64_t k = 0; k < s.levels; ++k) {
    const int64_t l = s.levels - 1 - k, first = levels[size_t(l)].offset * kFeatures;
    const bool bytes = kFormat == narrow_format::int8;
    const void* words =
        bytes ? static_cast<const void*>(x.bytes + first) : static_cast<const void*>(x.halves + first);
    const Level level = {levels[size_t(l)], static_cast<const int32_t*>(words),
                         bytes ? x.factors + l * kFeatures : nullptr, s.hash, s.blend};
    level_of<kFeatures, kFormat>(level, x.positions, s.n, x.features + l * kFeatures * s.n);
  }
}

template <int kFeatures>
void encode_format(const HashtableNarrowFwd::Args<float>& x) {
  if (x.shape.format == narrow_format::f16) return encode<kFeatures, narrow_format::f16>(x);
  if (x.shape.format == narrow_format::bf16) return encode<kFeatures, narrow_format::bf16>(x);
  encode<kFeatures, narrow_format::int8>(x);
}

void encode_all(const HashtableNarrowFwd::Args<float>& x) {
  switch (x.shape.features) {
    case 1:
      return encode_format<1>(x);
    case 2:
      return encode_format<2>(x);
    case 4:
      return encode_format<4>(x);
    case 8:
      return encode_format<8>(x);
  }
}

KLAB_SIMD_ONCE(encode_all);

#if HWY_ONCE
void run(const HashtableNarrowFwd::Args<float>& x) { HWY_DYNAMIC_DISPATCH(encode_all)(x); }

std::string supported(const HashtableNarrowFwd::Shape& s, const Host&) {
  return s.entries * s.features < int64_t(1) << 31 ? ""
                                                   : "gathers by 32 bits, and a level may have 2^31 numbers";
}

KLAB_VARIANT(HashtableNarrowFwd,
             {.run = run,
              .parent = "01_naive",
              .expect = {.shape = {1 << 18, 16, 2, 1 << 22, 0, 0, 1, 2}, .over_parent = 4},
              .supported = supported});
KLAB_SIMD_CLOSE();
#endif
