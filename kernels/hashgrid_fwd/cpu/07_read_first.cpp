// hashgrid_fwd.cpu.07_read_first: a level is read through, in order, before points meet it at random.
//
// CHANGE    before the first point a thread reads one byte of each line of its level's table, by four
//           interleaved walks through it. Where points meet every line of a level twice all threads work on
//           that level, each with its part of the points, and each reads all of it through; otherwise a level
//           stays with one thread. The finest go first. Not read where points are too few to touch most
//           lines. The stream of prefetches for the next level is gone.
// EXPECT    a table that no cache holds arrives at the speed of a copy, in place of a wait for each line: the
//           prefetcher sees loads in order and keeps more lines in flight than a core's own misses. Prefetch
//           instructions do not trigger it, and occupy the buffers that misses need. At least 1.2 times
//           faster with few points and a cold table. With many points threads share the last cache: one table
//           in it instead of one a thread.
// NUMERICS  as the parent: every point is computed by one thread with the same operations.
// NEEDS     a cache that holds a level for each thread, and threads that share it.
// TRIED     see NOTES.md, cpu.07_read_first
#include <omp.h>

#include <algorithm>
#include <vector>

#include "harness/core/registrar.h"
#include "kernels/common/hashgrid/read_through.h"
#include "kernels/common/simd.h"
#include "reference/hashgrid_fwd/hashgrid_fwd.h"

#include "kernels/common/hashgrid/cell-inl.h"

KLAB_SIMD_BEGIN();

/// Interpolates corner values v[2^kDim] along x, then y, then z; the result is v[0].
template <int kDim>
HWY_INLINE void interpolate(HashgridF* v, const HashgridF* fraction) {
  const HashgridF32 d;
  for (int axis = 0, count = 1 << kDim; axis < kDim; ++axis) {
    const auto rest = hn::Sub(hn::Set(d, 1.0F), fraction[axis]);
    count /= 2;
    for (int k = 0; k < count; ++k) v[k] = hn::MulAdd(fraction[axis], v[2 * k + 1], hn::Mul(rest, v[2 * k]));
  }
}

/// One feature at a time, four bytes per lane.
template <int kDim, int kFeatures>
HWY_INLINE void by_feature(const HashgridU* entry, const HashgridF* fraction, const float* table, float* out,
                           int64_t out_stride) {
  const HashgridF32 d;
  const hn::RebindToSigned<HashgridF32> di;
  const HashgridU32 du;
  for (int f = 0; f < kFeatures; ++f) {
    HashgridF v[8];
    for (int c = 0; c < 1 << kDim; ++c)
      v[c] = hn::GatherIndex(d, table + f, hn::BitCast(di, hn::Mul(entry[c], hn::Set(du, kFeatures))));
    interpolate<kDim>(v, fraction);
    hn::StoreU(v[0], d, out + f * out_stride);
  }
}

/// Two features at a time. A lane of 64 bits holds both of one point, so a vector holds half of the points:
/// in every 128-bit block `low` has points 0 and 1, `high` has 2 and 3. Fractions and entries are spread the
/// same way.
template <int kDim, int kFeatures>
HWY_INLINE void by_pair(const HashgridU* entry, const HashgridF* fraction, const float* table, float* out,
                        int64_t out_stride) {
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
      low[c] = hn::BitCast(d, hn::GatherIndex(du64, words + pair, index_low));
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

/// One vector of points: positions[d*stride] to out[f*out_stride].
template <int kDim, int kFeatures, bool kDense>
HWY_INLINE void points(const HashgridLevel& level, const float* positions, int64_t stride, const float* table,
                       float* out, int64_t out_stride) {
  HashgridAxis axis[3];
  for (int k = 0; k < kDim; ++k) axis[k] = hashgrid_axis(positions + k * stride, level.scale);
  if constexpr (kDim == 2) axis[2] = axis[1];
  HashgridU entry[8];
  hashgrid_corners<kDim, kDense>(level, axis[0].cell, axis[1].cell, axis[2].cell, entry);

  const HashgridF fraction[3] = {axis[0].fraction, axis[1].fraction, axis[2].fraction};
  if constexpr (kFeatures == 1 || HWY_TARGET == HWY_SCALAR) {
    by_feature<kDim, kFeatures>(entry, fraction, table, out, out_stride);
  } else {
    by_pair<kDim, kFeatures>(entry, fraction, table, out, out_stride);
  }
}

constexpr int64_t kLine = 64;  // bytes of a cache line

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
  int64_t i = begin;
  for (; i + lanes <= end; i += lanes)
    points<kDim, kFeatures, kDense>(level, x.positions + i, n, table, out + i, n);
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

/// Points of a level, for one thread.
struct Task {
  int64_t level, begin, end;
};

/// The finest level first. A level that is shared has a task for each thread.
std::vector<Task> tasks_of(const HashgridShape& shape, const std::vector<HashgridLevel>& levels) {
  const int64_t threads = omp_get_max_threads();
  // One part a level; more where threads are more than half as many as levels.
  const int64_t alone = (2 * threads + shape.levels - 1) / shape.levels;
  std::vector<Task> tasks;
  for (int64_t l = shape.levels - 1; l >= 0; --l) {
    const int64_t bytes = levels[size_t(l)].entries * shape.features * 4;
    const bool share = touches_most(shape.n / threads / 2, shape.dim, bytes);
    const int64_t parts = share ? threads : alone;
    const int64_t size = (shape.n / parts + kHashgridLanes) / kHashgridLanes * kHashgridLanes;
    for (int64_t begin = 0; begin < shape.n; begin += size)
      tasks.push_back({l, begin, std::min(shape.n, begin + size)});
  }
  return tasks;
}

template <int kDim, int kFeatures>
void encode(const HashgridFwd::Args<float>& x) {
  const std::vector<HashgridLevel> levels = hashgrid_levels(x.shape);
  const std::vector<Task> tasks = tasks_of(x.shape, levels);
#pragma omp parallel for schedule(dynamic)
  for (const Task& task : tasks) {
    const HashgridLevel& level = levels[size_t(task.level)];
    float* out = x.features + task.level * kFeatures * x.shape.n;
    if (level.dense) {
      chunk_of<kDim, kFeatures, true>(level, x, task.begin, task.end, out);
    } else {
      chunk_of<kDim, kFeatures, false>(level, x, task.begin, task.end, out);
    }
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

KLAB_SIMD_END(encode_all);

#if HWY_ONCE
namespace klab {
namespace {

void run(const HashgridFwd::Args<float>& x) { HWY_DYNAMIC_DISPATCH(encode_all)(x); }

KLAB_VARIANT(HashgridFwd, {.run = run,
                           .parent = "06_threads",
                           .expect = {.shape = {10000, 3, 16, 2, 18, 16, 2048, 1}, .over_parent = 1.2}});

}  // namespace
}  // namespace klab
#endif
