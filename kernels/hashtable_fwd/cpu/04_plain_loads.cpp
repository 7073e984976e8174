// hashtable_fwd.cpu.04_plain_loads: entries by plain loads, two features at once.
//
// CHANGE    in place of a gather instruction a feature a plain load a lane, of both features of an entry,
//           whose address was stored a vector of points earlier, and shuffles that put the lanes together.
//           The streams are prefetched, and a level whose entries are mostly used is read through first.
// EXPECT    half as many reads, and more points fit into a core's window, so that their lines are in flight
//           together. At least 1.3 times faster.
// NUMERICS  as the parent: the same operations, so the same bits.
// NEEDS     entries of one feature are gathered as before.
#include <vector>

#include "harness/core/registrar.h"
#include "kernels/common/hashgrid/read_through.h"
#include "kernels/common/simd.h"
#include "reference/hashtable_fwd/hashtable_fwd.h"

#include "kernels/common/hashgrid/table_corners-inl.h"

KLAB_SIMD_BEGIN();

#include "kernels/common/hashgrid/03_simd_gather-inl.h"

/// A vector of points between its cells and its corners, in L1: loads take their addresses from there.
struct Looked {
  HWY_ALIGN uint32_t entry[8][kHashgridLanes];
  HWY_ALIGN float fraction[3][kHashgridLanes];
};

#if HWY_TARGET != HWY_SCALAR  // a vector of one lane has no wider lanes
/// Lanes of 64 bits from as many places: words[kStep * entry[j]] for j = 0, 1, 4, 5, 8, 9, ... in this order.
template <int kStep, class D64>
HWY_INLINE hn::Vec<D64> collect(D64 d, const uint64_t* words, const uint32_t* entry) {
  if constexpr (hn::MaxLanes(D64()) == 1) {
    return hn::LoadU(d, words + size_t(*entry) * kStep);
  } else {
    const hn::Half<D64> half;
    constexpr size_t kHigh = hn::MaxLanes(D64()) == 2 ? 1 : hn::MaxLanes(D64());
    return hn::Combine(d, collect<kStep>(half, words, entry + kHigh), collect<kStep>(half, words, entry));
  }
}
#endif

/// One feature at a time, four bytes per lane.
template <int kFeatures>
HWY_INLINE void by_feature(const Looked& at, const float* table, float* out, int64_t out_stride) {
  const HashgridF32 d;
  const HashgridU32 du;
  const hn::RebindToSigned<HashgridF32> di;
  HashgridF fraction[3];
  for (int k = 0; k < 3; ++k) fraction[k] = hn::Load(d, at.fraction[k]);
  for (int f = 0; f < kFeatures; ++f) {
    HashgridF v[8];
    for (int c = 0; c < 8; ++c) {
      const auto entry = hn::Load(du, at.entry[c]);
      v[c] = hn::GatherIndex(d, table + f, hn::BitCast(di, hn::Mul(entry, hn::Set(du, kFeatures))));
    }
    interpolate<3>(v, fraction);
    hn::StoreU(v[0], d, out + f * out_stride);
  }
}

/// Two features at a time. A lane of 64 bits holds both of one point, so a vector holds half of the points:
/// in every 128-bit block `low` has points 0 and 1, `high` has 2 and 3. Fractions are spread the same way.
template <int kFeatures>
HWY_INLINE void by_pair(const Looked& at, const float* table, float* out, int64_t out_stride) {
#if HWY_TARGET != HWY_SCALAR
  const HashgridF32 d;
  const hn::RepartitionToWide<HashgridU32> du64;
  const auto* words = reinterpret_cast<const uint64_t*>(table);
  HashgridF fraction_low[3];
  HashgridF fraction_high[3];
  for (int k = 0; k < 3; ++k) {
    const auto fraction = hn::Load(d, at.fraction[k]);
    fraction_low[k] = hn::InterleaveLower(d, fraction, fraction);
    fraction_high[k] = hn::InterleaveUpper(d, fraction, fraction);
  }
  for (int pair = 0; pair < kFeatures / 2; ++pair) {
    HashgridF low[8];
    HashgridF high[8];
    for (int c = 0; c < 8; ++c) {
      low[c] = hn::BitCast(d, collect<kFeatures / 2>(du64, words + pair, at.entry[c]));
      high[c] = hn::BitCast(d, collect<kFeatures / 2>(du64, words + pair, at.entry[c] + 2));
    }
    interpolate<3>(low, fraction_low);
    interpolate<3>(high, fraction_high);
    // A block of low: p0f0 p0f1 p1f0 p1f1, of high: p2f0 p2f1 p3f0 p3f1. Two rounds of interleaving sort
    // them.
    const auto a = hn::InterleaveLower(d, low[0], high[0]);  // p0f0 p2f0 p0f1 p2f1
    const auto b = hn::InterleaveUpper(d, low[0], high[0]);  // p1f0 p3f0 p1f1 p3f1
    hn::StoreU(hn::InterleaveLower(d, a, b), d, out + (2 * pair) * out_stride);
    hn::StoreU(hn::InterleaveUpper(d, a, b), d, out + (2 * pair + 1) * out_stride);
  }
#endif
}

/// How a table is read.
struct Ways {
  int64_t hash, blend;
};

/// Cells of the points at positions[d*stride].
HWY_INLINE void look(const TableLevel& level, Ways ways, const float* positions, int64_t stride,
                     Looked& out) {
  HashgridAxis axis[3];
  for (int k = 0; k < 3; ++k) {
    axis[k] = hashgrid_axis(positions + k * stride, level.scale);
    hn::Store(hashtable_fraction(ways.blend, axis[k].fraction), HashgridF32(), out.fraction[k]);
  }
  HashgridU entry[8];
  hashtable_corners(level, ways.hash, ways.blend, axis[0].cell, axis[1].cell, axis[2].cell, entry);
  for (int c = 0; c < 8; ++c) hn::Store(entry[c], HashgridU32(), out.entry[c]);
}

/// Features of a vector of points, to out[f*out_stride].
template <int kFeatures>
HWY_INLINE void sum_corners(const Looked& at, const float* table, float* out, int64_t out_stride) {
  if constexpr (kFeatures == 1 || HWY_TARGET == HWY_SCALAR) {
    by_feature<kFeatures>(at, table, out, out_stride);
  } else {
    by_pair<kFeatures>(at, table, out, out_stride);
  }
}

constexpr int64_t kLine = 64;    // bytes of a cache line
constexpr int64_t kAhead = 256;  // points between reads and the streams' prefetch

/// Returns whether `points` points touch most lines of a level of `bytes` bytes.
bool touches_most(int64_t points, int64_t bytes) { return 4 * points >= bytes / kLine; }

template <int kFeatures>
void level_of(const TableLevel& level, const HashtableFwd::Args<float>& x, float* out) {
  const int64_t lanes = int64_t(hn::Lanes(HashgridF32()));
  const int64_t n = x.shape.n;
  const float* table = x.table + level.offset * kFeatures;
  const int64_t bytes = int64_t(level.entries) * kFeatures * 4;
  const Ways ways{x.shape.hash, x.shape.blend};
  if (touches_most(n, bytes)) read_through(table, bytes);
  Looked at[2];
  int64_t i = 0;
  if (i + lanes <= n) look(level, ways, x.positions + i, n, at[0]);
  for (size_t now = 0; i + lanes <= n; i += lanes, now ^= 1) {
    for (int k = 0; k < 3; ++k) __builtin_prefetch(x.positions + k * n + i + kAhead);
    for (int f = 0; f < kFeatures; ++f) __builtin_prefetch(out + f * n + i + kAhead, 1);
    if (i + 2 * lanes <= n) look(level, ways, x.positions + i + lanes, n, at[now ^ 1]);
    sum_corners<kFeatures>(at[now], table, out + i, n);
  }
  if (i == n) return;
  // The last points, in a vector filled up with points at the origin.
  HWY_ALIGN float position[3 * kHashgridLanes] = {};
  HWY_ALIGN float result[kFeatures * kHashgridLanes];
  for (int k = 0; k < 3; ++k)
    for (int64_t j = i; j < n; ++j) position[k * kHashgridLanes + j - i] = x.positions[k * n + j];
  look(level, ways, position, kHashgridLanes, at[0]);
  sum_corners<kFeatures>(at[0], table, result, kHashgridLanes);
  for (int f = 0; f < kFeatures; ++f)
    for (int64_t j = i; j < n; ++j) out[f * n + j] = result[f * kHashgridLanes + j - i];
}

#include "kernels/hashtable_fwd/cpu/03_vectors-inl.h"

KLAB_SIMD_ONCE(encode_all);

#if HWY_ONCE
void run(const HashtableFwd::Args<float>& x) { HWY_DYNAMIC_DISPATCH(encode_all)(x); }

KLAB_VARIANT(HashtableFwd, {.run = run,
                            .parent = "03_vectors",
                            .expect = {.shape = {1 << 18, 16, 2, 1 << 22, 0, 0, 1}, .over_parent = 1.3}});
KLAB_SIMD_CLOSE();
#endif
