// hashgrid_fwd.cpu.09_plain_loads: corners are read one by one, each into its lane, and no other load waits
// for memory.
//
// CHANGE    in place of a gather instruction a plain load a lane, whose address was stored a vector of points
//           earlier, and shuffles that put the lanes together. The streams, positions and results, are
//           prefetched well ahead.
// EXPECT    a gather takes dozens of small steps for the work of eight loads and seven shuffles, so more
//           points fit into a core's window, and their lines are in flight together without being prefetched.
//           1.1 times or more with 2^18 points; more in levels that L1 or L2 holds.
// NUMERICS  as the parent: the same operations, so the same bits.
// NEEDS     nothing; entries of one feature are gathered as before.
// TRIED     see NOTES.md, cpu.09_plain_loads
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
template <int kDim, int kFeatures>
HWY_INLINE void by_feature(const Looked& at, const float* table, float* out, int64_t out_stride) {
  const HashgridF32 d;
  const HashgridU32 du;
  const hn::RebindToSigned<HashgridF32> di;
  HashgridF fraction[3];
  for (int k = 0; k < kDim; ++k) fraction[k] = hn::Load(d, at.fraction[k]);
  for (int f = 0; f < kFeatures; ++f) {
    HashgridF v[8];
    for (int c = 0; c < 1 << kDim; ++c) {
      const auto entry = hn::Load(du, at.entry[c]);
      v[c] = hn::GatherIndex(d, table + f, hn::BitCast(di, hn::Mul(entry, hn::Set(du, kFeatures))));
    }
    interpolate<kDim>(v, fraction);
    hn::StoreU(v[0], d, out + f * out_stride);
  }
}

/// Two features at a time. A lane of 64 bits holds both of one point, so a vector holds half of the points:
/// in every 128-bit block `low` has points 0 and 1, `high` has 2 and 3. Fractions are spread the same way.
template <int kDim, int kFeatures>
HWY_INLINE void by_pair(const Looked& at, const float* table, float* out, int64_t out_stride) {
#if HWY_TARGET != HWY_SCALAR
  const HashgridF32 d;
  const hn::RepartitionToWide<HashgridU32> du64;
  const auto* words = reinterpret_cast<const uint64_t*>(table);
  HashgridF fraction_low[3];
  HashgridF fraction_high[3];
  for (int k = 0; k < kDim; ++k) {
    const auto fraction = hn::Load(d, at.fraction[k]);
    fraction_low[k] = hn::InterleaveLower(d, fraction, fraction);
    fraction_high[k] = hn::InterleaveUpper(d, fraction, fraction);
  }
  for (int pair = 0; pair < kFeatures / 2; ++pair) {
    HashgridF low[8];
    HashgridF high[8];
    for (int c = 0; c < 1 << kDim; ++c) {
      low[c] = hn::BitCast(d, collect<kFeatures / 2>(du64, words + pair, at.entry[c]));
      high[c] = hn::BitCast(d, collect<kFeatures / 2>(du64, words + pair, at.entry[c] + 2));
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
template <int kDim, int kFeatures>
HWY_INLINE void sum_corners(const Looked& at, const float* table, float* out, int64_t out_stride) {
  if constexpr (kFeatures == 1 || HWY_TARGET == HWY_SCALAR) {
    by_feature<kDim, kFeatures>(at, table, out, out_stride);
  } else {
    by_pair<kDim, kFeatures>(at, table, out, out_stride);
  }
}

constexpr int64_t kLine = 64;    // bytes of a cache line
constexpr int64_t kAhead = 256;  // points between reads and the streams' prefetch

/// Returns whether `points` points touch most lines of a level of `bytes` bytes.
bool touches_most(int64_t points, int64_t dim, int64_t bytes) { return points << (dim - 1) >= bytes / kLine; }

template <int kDim, int kFeatures, bool kDense>
void chunk_of(const HashgridLevel& level, const HashgridFwd::Args<float>& x, int64_t begin, int64_t end,
              float* out) {
  const int64_t lanes = int64_t(hn::Lanes(HashgridF32()));
  const int64_t n = x.shape.n;
  const float* table = x.table + level.offset * kFeatures;
  const int64_t bytes = level.entries * kFeatures * 4;
  if (touches_most(end - begin, kDim, bytes)) read_through(table, bytes);
  Looked at[2];
  int64_t i = begin;
  if (i + lanes <= end) look<kDim, kDense>(level, x.positions + i, n, at[0]);
  for (size_t now = 0; i + lanes <= end; i += lanes, now ^= 1) {
    for (int k = 0; k < kDim; ++k) __builtin_prefetch(x.positions + k * n + i + kAhead);
    for (int f = 0; f < kFeatures; ++f) __builtin_prefetch(out + f * n + i + kAhead, 1);
    if (i + 2 * lanes <= end) look<kDim, kDense>(level, x.positions + i + lanes, n, at[now ^ 1]);
    sum_corners<kDim, kFeatures>(at[now], table, out + i, n);
  }
  if (i == end) return;
  // The last points, in a vector filled up with points at the origin.
  HWY_ALIGN float position[kDim * kHashgridLanes] = {};
  HWY_ALIGN float result[kFeatures * kHashgridLanes];
  for (int k = 0; k < kDim; ++k)
    for (int64_t j = i; j < end; ++j) position[k * kHashgridLanes + j - i] = x.positions[k * n + j];
  look<kDim, kDense>(level, position, kHashgridLanes, at[0]);
  sum_corners<kDim, kFeatures>(at[0], table, result, kHashgridLanes);
  for (int f = 0; f < kFeatures; ++f)
    for (int64_t j = i; j < end; ++j) out[f * n + j] = result[f * kHashgridLanes + j - i];
}

#include "kernels/hashgrid_fwd/cpu/07_read_first-inl.h"

#include "kernels/hashgrid_fwd/cpu/03_simd_gather_dims-inl.h"

KLAB_SIMD_ONCE(encode_all);

#if HWY_ONCE
void run(const HashgridFwd::Args<float>& x) { HWY_DYNAMIC_DISPATCH(encode_all)(x); }

KLAB_VARIANT(HashgridFwd, {.run = run,
                           .parent = "07_read_first",
                           .expect = {.shape = {1 << 18, 3, 16, 2, 19, 16, 2048, 1}, .over_parent = 1.1},
                           .was = {"10_one_level"}});
KLAB_SIMD_CLOSE();
#endif
