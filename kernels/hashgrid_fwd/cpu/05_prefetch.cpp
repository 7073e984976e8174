// hashgrid_fwd.cpu.05_prefetch: load the next level's table while this one is being used.
//
// CHANGE    while a level is processed, the next level's part of the table is prefetched, line after line, a
//           few lines per vector of points.
// EXPECT    when a level begins, its table is not in the caches: 4 MB come from memory by random reads, each
//           a full wait. Prefetched in order and ahead they come at the speed of a copy, under the gathers.
//           At least 1.2 times faster when points are few for the table (2^16), less the more there are.
// NUMERICS  as the parent: the same operations, so the same bits.
// NEEDS     nothing; where the points are too few to touch most lines of a level it does not prefetch.
// TRIED     see NOTES.md, cpu.05_prefetch
#include <vector>

#include "harness/core/registrar.h"
#include "kernels/common/simd.h"
#include "reference/hashgrid_fwd/hashgrid_fwd.h"

#include "kernels/common/hashgrid/cell-inl.h"

KLAB_SIMD_BEGIN();

#include "kernels/common/hashgrid/03_simd_gather-inl.h"
#include "kernels/hashgrid_fwd/cpu/03_simd_gather-inl.h"

constexpr int64_t kLine = 64;  // bytes of a cache line

/// Bytes to be prefetched, evenly, while something else is done.
struct Stream {
  const char* next = nullptr;
  const char* end = nullptr;
  int64_t step = 0;  // bytes a time

  HWY_INLINE void advance() {
    const char* until = next + step < end ? next + step : end;
    for (; next < until; next += kLine) __builtin_prefetch(next, 0, 2);  // into L2
  }
};

/// The part of the table that a level has, spread over `times` calls of advance(); nothing when `points`
/// points leave most of its lines untouched.
Stream stream_of(const HashgridLevel& level, const float* table, const HashgridShape& s, int64_t times) {
  const int64_t bytes = level.entries * s.features * 4;
  if (s.n << (s.dim - 1) < bytes / kLine) return {};
  const char* begin = reinterpret_cast<const char*>(table + level.offset * s.features);
  const int64_t lines = bytes / kLine / (times + 1) + 1;
  return {begin, begin + bytes, lines * kLine};
}

template <int kDim, int kFeatures, bool kDense>
void level_of(const HashgridLevel& level, const HashgridFwd::Args<float>& x, Stream ahead, float* out) {
  const int64_t lanes = int64_t(hn::Lanes(HashgridF32()));
  const int64_t n = x.shape.n;
  const float* table = x.table + level.offset * kFeatures;
  int64_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    ahead.advance();
    points<kDim, kFeatures, kDense>(level, x.positions + i, n, table, out + i, n);
  }
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
  const std::vector<HashgridLevel> levels = hashgrid_levels(x.shape);
  const int64_t vectors = x.shape.n / int64_t(hn::Lanes(HashgridF32()));
  for (size_t l = 0; l < levels.size(); ++l) {
    Stream ahead;
    if (l + 1 < levels.size()) ahead = stream_of(levels[l + 1], x.table, x.shape, vectors);
    if (levels[l].dense) {
      level_of<kDim, kFeatures, true>(levels[l], x, ahead, out);
    } else {
      level_of<kDim, kFeatures, false>(levels[l], x, ahead, out);
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
                           .expect = {.shape = {1 << 16, 3, 16, 2, 19, 16, 2048, 0}, .over_parent = 1.2}});
KLAB_SIMD_CLOSE();
#endif
