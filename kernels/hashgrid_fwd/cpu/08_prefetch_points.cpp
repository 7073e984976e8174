// hashgrid_fwd.cpu.08_prefetch_points: the lines of the points to come are prefetched, three vectors ahead.
//
// CHANGE    cells and entries are computed three vectors of points before their corners are gathered; they
//           wait in L1. Between gathers the line of every corner to come is prefetched. A level with that
//           many points is not read through first. In levels that fit near the core, and with few points,
//           nothing is prefetched.
// EXPECT    a gather instruction is dozens of small steps, and a core looks only a few hundred ahead: it
//           hardly gets past the vector at hand, whose lines it then waits for. Prefetched beforehand they
//           come while it gathers. At least 1.1 times faster with 2^16 random points; most where an entry is
//           large, so that corners share no line.
// NUMERICS  as the parent: the same operations, so the same bits.
// NEEDS     room in L1 for the lines in flight.
// TRIED     see NOTES.md, cpu.08_prefetch_points
#include <omp.h>

#include <algorithm>
#include <vector>

#include "harness/core/registrar.h"
#include "kernels/common/hashgrid/read_through.h"
#include "kernels/common/simd.h"
#include "reference/hashgrid_fwd/hashgrid_fwd.h"

#include "kernels/common/hashgrid/cell-inl.h"

KLAB_SIMD_BEGIN();

#include "kernels/common/hashgrid/03_simd_gather-inl.h"

/// A vector of points between its cells and its corners.
struct Looked {
  HWY_ALIGN uint32_t entry[8][kHashgridLanes];
  HWY_ALIGN float fraction[3][kHashgridLanes];
};

/// Prefetches the lines of corner c, of lanes [begin, end).
template <int kFeatures>
HWY_INLINE void prefetch(const Looked& soon, int c, const float* table, size_t begin, size_t end) {
  for (size_t j = begin; j < end; ++j) __builtin_prefetch(table + size_t(soon.entry[c][j]) * kFeatures);
}

/// One feature at a time, four bytes per lane. kPrefetch, here and below: the lines of `soon` are prefetched between gathers.
template <int kDim, int kFeatures, bool kPrefetch>
HWY_INLINE void by_feature(const HashgridU* entry, const HashgridF* fraction, const float* table, float* out,
                           int64_t out_stride, const Looked& soon) {
  const HashgridF32 d;
  const hn::RebindToSigned<HashgridF32> di;
  const HashgridU32 du;
  for (int f = 0; f < kFeatures; ++f) {
    HashgridF v[8];
    for (int c = 0; c < 1 << kDim; ++c) {
      if (kPrefetch && f == 0) prefetch<kFeatures>(soon, c, table, 0, hn::Lanes(d));
      v[c] = hn::GatherIndex(d, table + f, hn::BitCast(di, hn::Mul(entry[c], hn::Set(du, kFeatures))));
    }
    interpolate<kDim>(v, fraction);
    hn::StoreU(v[0], d, out + f * out_stride);
  }
}

/// Two features at a time. A lane of 64 bits holds both of one point, so a vector holds half of the points:
/// in every 128-bit block `low` has points 0 and 1, `high` has 2 and 3. Fractions and entries are spread the
/// same way.
template <int kDim, int kFeatures, bool kPrefetch>
HWY_INLINE void by_pair(const HashgridU* entry, const HashgridF* fraction, const float* table, float* out,
                        int64_t out_stride, const Looked& soon) {
#if HWY_TARGET != HWY_SCALAR  // a vector of one lane has no wider lanes
  const HashgridF32 d;
  const HashgridU32 du;
  const hn::RepartitionToWide<HashgridU32> du64;
  const hn::RebindToSigned<decltype(du64)> di64;
  const auto* words = reinterpret_cast<const uint64_t*>(table);
  HashgridF fraction_low[3];
  HashgridF fraction_high[3];
  for (int k = 0; k < kDim; ++k) {
    fraction_low[k] = hn::InterleaveLower(d, fraction[k], fraction[k]);
    fraction_high[k] = hn::InterleaveUpper(d, fraction[k], fraction[k]);
  }
  for (int pair = 0; pair < kFeatures / 2; ++pair) {
    HashgridF low[8];
    HashgridF high[8];
    for (int c = 0; c < 1 << kDim; ++c) {
      const auto word = hn::Mul(entry[c], hn::Set(du, kFeatures / 2));
      const auto index_low = hn::BitCast(di64, hn::ZipLower(du64, word, hn::Zero(du)));
      const auto index_high = hn::BitCast(di64, hn::ZipUpper(du64, word, hn::Zero(du)));
      const size_t lanes = hn::Lanes(d);
      if (kPrefetch && pair == 0) prefetch<kFeatures>(soon, c, table, 0, lanes / 2);
      low[c] = hn::BitCast(d, hn::GatherIndex(du64, words + pair, index_low));
      if (kPrefetch && pair == 0) prefetch<kFeatures>(soon, c, table, lanes / 2, lanes);
      high[c] = hn::BitCast(d, hn::GatherIndex(du64, words + pair, index_high));
    }
    interpolate<kDim>(low, fraction_low);
    interpolate<kDim>(high, fraction_high);
    // A block of low: p0f0 p0f1 p1f0 p1f1, of high: p2f0 p2f1 p3f0 p3f1. Two rounds of interleaving sort
    // them.
    const auto a = hn::InterleaveLower(d, low[0], high[0]);  // p0f0 p2f0 p0f1 p2f1
    const auto b = hn::InterleaveUpper(d, low[0], high[0]);  // p1f0 p3f0 p1f1 p3f1
    hn::StoreU(hn::InterleaveLower(d, a, b), d, out + (2 * pair) * out_stride);
    hn::StoreU(hn::InterleaveUpper(d, a, b), d, out + (2 * pair + 1) * out_stride);
  }
#endif
}

#include "kernels/hashgrid_fwd/cpu/08_prefetch_points-inl.h"

/// Features of a vector of points, to out[f*out_stride].
template <int kDim, int kFeatures, bool kPrefetch>
HWY_INLINE void gather(const Looked& at, const Looked& soon, const float* table, float* out,
                       int64_t out_stride) {
  HashgridU entry[8];
  for (int c = 0; c < 1 << kDim; ++c) entry[c] = hn::Load(HashgridU32(), at.entry[c]);
  HashgridF fraction[3];
  for (int k = 0; k < kDim; ++k) fraction[k] = hn::Load(HashgridF32(), at.fraction[k]);
  if constexpr (kFeatures == 1 || HWY_TARGET == HWY_SCALAR) {
    by_feature<kDim, kFeatures, kPrefetch>(entry, fraction, table, out, out_stride, soon);
  } else {
    by_pair<kDim, kFeatures, kPrefetch>(entry, fraction, table, out, out_stride, soon);
  }
}

/// Points [begin, begin + vectors * lanes) of a level.
template <int kDim, int kFeatures, bool kDense, bool kPrefetch>
void whole_vectors(const HashgridLevel& level, const HashgridFwd::Args<float>& x, int64_t begin,
                   int64_t vectors, const float* table, float* out) {
  const int64_t lanes = int64_t(hn::Lanes(HashgridF32())), n = x.shape.n;
  constexpr int64_t kAhead = 3, kWaiting = 4;
  Looked waiting[kWaiting] = {};
  const auto look_at = [&](int64_t v) HWY_ATTR {
    look<kDim, kDense>(level, x.positions + begin + v * lanes, n, waiting[v % kWaiting]);
  };
  for (int64_t v = 0; v < std::min(kAhead, vectors); ++v) look_at(v);
  for (int64_t v = 0; v < vectors; ++v) {
    if (v + kAhead < vectors) look_at(v + kAhead);
    gather<kDim, kFeatures, kPrefetch>(waiting[v % kWaiting], waiting[(v + kAhead) % kWaiting], table,
                                       out + begin + v * lanes, n);
  }
}

constexpr int64_t kLine = 64;       // bytes of a cache line
constexpr int64_t kNear = 1 << 21;  // bytes of a level that stays near the core
constexpr int64_t kMany = 1 << 15;  // points for which it is worth prefetching

template <int kDim, int kFeatures, bool kDense>
void chunk_of(const HashgridLevel& level, const HashgridFwd::Args<float>& x, int64_t begin, int64_t end,
              float* out) {
  const int64_t lanes = int64_t(hn::Lanes(HashgridF32()));
  const int64_t n = x.shape.n;
  const float* table = x.table + level.offset * kFeatures;
  const int64_t bytes = level.entries * kFeatures * 4;
  const bool ask = bytes > kNear && end - begin >= kMany;
  if (!ask && (end - begin) << (kDim - 1) >= bytes / kLine) read_through(table, bytes);
  const int64_t vectors = (end - begin) / lanes;
  if (ask) {
    whole_vectors<kDim, kFeatures, kDense, true>(level, x, begin, vectors, table, out);
  } else {
    whole_vectors<kDim, kFeatures, kDense, false>(level, x, begin, vectors, table, out);
  }
  const int64_t i = begin + vectors * lanes;
  if (i == end) return;
  // The last points, in a vector filled up with points at the origin.
  HWY_ALIGN float position[kDim * kHashgridLanes] = {};
  HWY_ALIGN float result[kFeatures * kHashgridLanes];
  for (int k = 0; k < kDim; ++k)
    for (int64_t j = i; j < end; ++j) position[k * kHashgridLanes + j - i] = x.positions[k * n + j];
  Looked at;
  look<kDim, kDense>(level, position, kHashgridLanes, at);
  gather<kDim, kFeatures, false>(at, at, table, result, kHashgridLanes);
  for (int f = 0; f < kFeatures; ++f)
    for (int64_t j = i; j < end; ++j) out[f * n + j] = result[f * kHashgridLanes + j - i];
}

template <int kDim, int kFeatures>
void encode(const HashgridFwd::Args<float>& x) {
  const std::vector<HashgridLevel> levels = hashgrid_levels(x.shape);
  const int64_t n = x.shape.n;
  // One part a level; more where threads are more than half as many as levels.
  const int64_t parts = (2 * omp_get_max_threads() + x.shape.levels - 1) / x.shape.levels;
  const int64_t size = (n / parts + kHashgridLanes) / kHashgridLanes * kHashgridLanes;
#pragma omp parallel for schedule(dynamic)
  for (int64_t task = 0; task < parts * x.shape.levels; ++task) {
    const int64_t l = x.shape.levels - 1 - task / parts;
    const int64_t begin = std::min(n, task % parts * size), end = std::min(n, begin + size);
    if (begin == end) continue;
    float* out = x.features + l * kFeatures * n;
    if (levels[size_t(l)].dense) {
      chunk_of<kDim, kFeatures, true>(levels[size_t(l)], x, begin, end, out);
    } else {
      chunk_of<kDim, kFeatures, false>(levels[size_t(l)], x, begin, end, out);
    }
  }
}

#include "kernels/hashgrid_fwd/cpu/03_simd_gather_dims-inl.h"

KLAB_SIMD_ONCE(encode_all);

#if HWY_ONCE
void run(const HashgridFwd::Args<float>& x) { HWY_DYNAMIC_DISPATCH(encode_all)(x); }

KLAB_VARIANT(HashgridFwd, {.run = run,
                           .parent = "07_read_first",
                           .expect = {.shape = {1 << 16, 3, 16, 2, 19, 16, 2048, 0}, .over_parent = 1.1},
                           .when = {{1 << 16, 3, 16, 2, 19, 16, 2048, 0},
                                    "random points: gathers wait for lines that were not prefetched"},
                           .was = {"08_ask_points"}});
KLAB_SIMD_CLOSE();
#endif
