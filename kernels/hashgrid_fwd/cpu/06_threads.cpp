// hashgrid_fwd.cpu.06_threads: all cores, on the same level at the same time.
//
// CHANGE    a level's points are cut into chunks that threads take as they become free, in the order of the
//           levels; a chunk loads its share of the next level.
// EXPECT    twice as fast on two cores while a level fits into the cache that they share: they need the same
//           4 MB. With a level of its own for every thread they would need 4 MB each.
// NUMERICS  as the parent: every point is computed by one thread with the same operations.
#include <algorithm>
#include <vector>

#include "harness/core/registrar.h"
#include "kernels/common/simd.h"
#include "reference/hashgrid_fwd/hashgrid_fwd.h"

#include "kernels/common/hashgrid/cell-inl.h"

KLAB_SIMD_BEGIN();

#include "kernels/common/hashgrid/03_simd_gather-inl.h"
#include "kernels/hashgrid_fwd/cpu/03_simd_gather-inl.h"

constexpr int64_t kChunk = 4096;  // points; a multiple of every number of lanes
constexpr int64_t kLine = 64;     // bytes of a cache line

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

/// Share `part` of `parts` of a level's table, spread over `times` calls of advance(); nothing when the
/// shape's points leave most of its lines untouched.
Stream stream_of(const HashgridLevel& level, const float* table, const HashgridShape& s, int64_t part,
                 int64_t parts, int64_t times) {
  const int64_t bytes = level.entries * s.features * 4;
  if (s.n << (s.dim - 1) < bytes / kLine) return {};
  const char* begin = reinterpret_cast<const char*>(table + level.offset * s.features);
  const int64_t lines = bytes / kLine / parts / (times + 1) + 1;
  return {begin + bytes * part / parts, begin + bytes * (part + 1) / parts, lines * kLine};
}

template <int kDim, int kFeatures, bool kDense>
void chunk_of(const HashgridLevel& level, const HashgridFwd::Args<float>& x, int64_t begin, int64_t end,
              Stream ahead, float* out) {
  const int64_t lanes = int64_t(hn::Lanes(HashgridF32()));
  const int64_t n = x.shape.n;
  const float* table = x.table + level.offset * kFeatures;
  int64_t i = begin;
  for (; i + lanes <= end; i += lanes) {
    ahead.advance();
    points<kDim, kFeatures, kDense>(level, x.positions + i, n, table, out + i, n);
  }
  if (i == end) return;
  // The last points, in a vector filled up with points at the origin.
  HWY_ALIGN float position[kDim * kHashgridLanes] = {};
  HWY_ALIGN float result[kFeatures * kHashgridLanes];
  for (int k = 0; k < kDim; ++k)
    for (int64_t j = i; j < end; ++j) position[k * kHashgridLanes + j - i] = x.positions[k * n + j];
  points<kDim, kFeatures, kDense>(level, position, kHashgridLanes, table, result, kHashgridLanes);
  for (int f = 0; f < kFeatures; ++f)
    for (int64_t j = i; j < end; ++j) out[f * n + j] = result[f * kHashgridLanes + j - i];
}

template <int kDim, int kFeatures>
void encode(const HashgridFwd::Args<float>& x) {
  const std::vector<HashgridLevel> levels = hashgrid_levels(x.shape);
  const int64_t vectors = kChunk / int64_t(hn::Lanes(HashgridF32()));
  const int64_t chunks = (x.shape.n + kChunk - 1) / kChunk;
  const int64_t tasks = chunks * x.shape.levels;
#pragma omp parallel for schedule(dynamic)
  for (int64_t task = 0; task < tasks; ++task) {
    const int64_t l = task / chunks;
    const int64_t chunk = task % chunks;
    const int64_t begin = chunk * kChunk;
    const int64_t end = std::min(begin + kChunk, x.shape.n);
    float* out = x.features + l * kFeatures * x.shape.n;
    Stream ahead;
    if (l + 1 < x.shape.levels)
      ahead = stream_of(levels[size_t(l + 1)], x.table, x.shape, chunk, chunks, vectors);
    if (levels[size_t(l)].dense) {
      chunk_of<kDim, kFeatures, true>(levels[size_t(l)], x, begin, end, ahead, out);
    } else {
      chunk_of<kDim, kFeatures, false>(levels[size_t(l)], x, begin, end, ahead, out);
    }
  }
}

#include "kernels/hashgrid_fwd/cpu/03_simd_gather_dims-inl.h"

KLAB_SIMD_ONCE(encode_all);

#if HWY_ONCE
void run(const HashgridFwd::Args<float>& x) { HWY_DYNAMIC_DISPATCH(encode_all)(x); }

KLAB_VARIANT(HashgridFwd, {.run = run,
                           .parent = "05_prefetch",
                           .expect = {.shape = {1 << 18, 3, 16, 2, 19, 16, 2048, 0}, .over_parent = 1.6}});
KLAB_SIMD_CLOSE();
#endif
