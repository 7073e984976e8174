// hashgrid_fwd.cpu.06_fetch_block: fetching taken out of the vectors.
//
// CHANGE    a block of points in three passes over small buffers: entries by vectors; entries fetched one
// plain load
//           and one plain store each; interpolation by vectors that read the buffer in order.
// EXPECT    a gather instruction is worked off as dozens of small steps; a plain load and store are two or
// three, so
//           more reads are in flight in the same window of the processor. 1.3 times faster than prefetching.
// NUMERICS  as the parent.
// NEEDS     nothing.
// TRIED     -
#include <algorithm>
#include <cstring>

#include "harness/registrar.h"
#include "reference/hashgrid_fwd/hashgrid_fwd.h"

#define HWY_DISABLED_TARGETS \
  (HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128 | HWY_RVV)  // no arrays of vectors
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/hashgrid_fwd/cpu/06_fetch_block.cpp"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "kernels/common/hashgrid_cell-inl.h"

HWY_BEFORE_NAMESPACE();
namespace klab {
namespace {
namespace HWY_NAMESPACE {

constexpr int64_t kBlock = 128;  // points; a multiple of every number of lanes

/// What the passes hand to each other; in L1 or nearly. A word is what is fetched at once: up to four
/// features.
template <int kDim, int kWord>
struct Block {
  alignas(64) uint32_t entry[1 << kDim][kBlock];
  alignas(64) float fraction[kDim][kBlock * kWord];  // repeated for every feature of the word
  alignas(64) float corner[1 << kDim][kBlock * kWord];
  alignas(64) float result[kBlock * kWord];
  alignas(64) float position[kDim][kBlock];  // of the last, partial block, filled up
  alignas(64) float row[kBlock];
};

template <int kWord>
HWY_INLINE void store_repeated(HashgridF v, float* to) {
  const HashgridF32 d;
  if constexpr (kWord == 1) hn::StoreU(v, d, to);
  if constexpr (kWord == 2) hn::StoreInterleaved2(v, v, d, to);
  if constexpr (kWord == 4) hn::StoreInterleaved4(v, v, v, v, d, to);
}

/// First pass: entries and fractions of the block's points.
template <int kDim, int kWord, bool kDense>
HWY_INLINE void locate(const HashgridLevel& level, const float* positions, int64_t stride,
                       Block<kDim, kWord>& b) {
  const HashgridU32 du;
  const int64_t lanes = int64_t(hn::Lanes(du));
  for (int64_t i = 0; i < kBlock; i += lanes) {
    HashgridAxis axis[3];
    for (int k = 0; k < kDim; ++k) {
      axis[k] = hashgrid_axis(positions + k * stride + i, level.scale);
      store_repeated<kWord>(axis[k].fraction, b.fraction[k] + i * kWord);
    }
    if constexpr (kDim == 2) axis[2] = axis[1];
    HashgridU entry[8];
    hashgrid_corners<kDim, kDense>(level, axis[0].cell, axis[1].cell, axis[2].cell, entry);
    for (int c = 0; c < 1 << kDim; ++c) hn::StoreU(entry[c], du, b.entry[c] + i);
  }
}

/// Second pass: nothing but reads that do not depend on each other.
template <int kDim, int kWord, int kFeatures>
HWY_INLINE void fetch(const float* table, Block<kDim, kWord>& b) {
  for (int c = 0; c < 1 << kDim; ++c)
    for (int64_t i = 0; i < kBlock; ++i)
      std::memcpy(b.corner[c] + i * kWord, table + int64_t(b.entry[c][i]) * kFeatures, kWord * sizeof(float));
}

/// Third pass: interpolation along x, then y, then z.
template <int kDim, int kWord>
HWY_INLINE void interpolate(Block<kDim, kWord>& b) {
  const HashgridF32 d;
  const int64_t lanes = int64_t(hn::Lanes(d));
  for (int64_t i = 0; i < kBlock * kWord; i += lanes) {
    HashgridF v[8];
    for (int c = 0; c < 1 << kDim; ++c) v[c] = hn::Load(d, b.corner[c] + i);
    for (int axis = 0, count = 1 << kDim; axis < kDim; ++axis) {
      const auto f = hn::Load(d, b.fraction[axis] + i);
      const auto rest = hn::Sub(hn::Set(d, 1.0F), f);
      count /= 2;
      for (int k = 0; k < count; ++k) v[k] = hn::MulAdd(f, v[2 * k + 1], hn::Mul(rest, v[2 * k]));
    }
    hn::Store(v[0], d, b.result + i);
  }
}

/// Results, a word a point, to rows of features.
template <int kDim, int kWord>
HWY_INLINE void write_rows(const Block<kDim, kWord>& b, float* out, int64_t stride) {
  const HashgridF32 d;
  const int64_t lanes = int64_t(hn::Lanes(d));
  for (int64_t i = 0; i < kBlock; i += lanes) {
    HashgridF row[4];
    if constexpr (kWord == 1) row[0] = hn::Load(d, b.result + i);
    if constexpr (kWord == 2) hn::LoadInterleaved2(d, b.result + i * 2, row[0], row[1]);
    if constexpr (kWord == 4) hn::LoadInterleaved4(d, b.result + i * 4, row[0], row[1], row[2], row[3]);
    for (int f = 0; f < kWord; ++f) hn::StoreU(row[f], d, out + f * stride + i);
  }
}

template <int kDim, int kFeatures, bool kDense>
void level_of(const HashgridLevel& level, const HashgridFwd::Args<float>& x, float* out) {
  constexpr int kWord = kFeatures < 4 ? kFeatures : 4;
  Block<kDim, kWord> b;
  float partial[kWord * kBlock];
  const int64_t n = x.shape.n;
  const float* table = x.table + level.offset * kFeatures;
  for (int64_t i = 0; i < n; i += kBlock) {
    const int64_t count = std::min(kBlock, n - i);
    const float* positions = x.positions + i;
    int64_t stride = n;
    if (count < kBlock) {
      std::memset(b.position, 0, sizeof b.position);
      for (int k = 0; k < kDim; ++k) std::copy_n(x.positions + k * n + i, count, b.position[k]);
      positions = b.position[0];
      stride = kBlock;
    }
    locate<kDim, kWord, kDense>(level, positions, stride, b);
    for (int first = 0; first < kFeatures; first += kWord) {
      fetch<kDim, kWord, kFeatures>(table + first, b);
      interpolate<kDim, kWord>(b);
      if (count == kBlock) {
        write_rows<kDim, kWord>(b, out + first * n + i, n);
        continue;
      }
      write_rows<kDim, kWord>(b, partial, kBlock);
      for (int f = 0; f < kWord; ++f) std::copy_n(partial + f * kBlock, count, out + (first + f) * n + i);
    }
  }
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

template <int kDim>
void encode_dim(const HashgridFwd::Args<float>& x) {
  switch (x.shape.features) {
    case 1:
      return encode<kDim, 1>(x);
    case 2:
      return encode<kDim, 2>(x);
    case 4:
      return encode<kDim, 4>(x);
    case 8:
      return encode<kDim, 8>(x);
  }
}

void encode_all(const HashgridFwd::Args<float>& x) { x.shape.dim == 3 ? encode_dim<3>(x) : encode_dim<2>(x); }

}  // namespace HWY_NAMESPACE
}  // namespace
}  // namespace klab
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace klab {
namespace {

HWY_EXPORT(encode_all);
void run(const HashgridFwd::Args<float>& x) { HWY_DYNAMIC_DISPATCH(encode_all)(x); }

KLAB_VARIANT(HashgridFwd, {.run = run,
                           .parent = "05_prefetch",
                           .expect = {.shape = {1 << 18, 3, 16, 2, 19, 16, 2048, 0}, .over_parent = 1.3}});

}  // namespace
}  // namespace klab
#endif
