// radix_sort.cpu.05_threads: every thread has a part of the pairs.
//
// CHANGE    each thread counts the digits of its part; places are handed out digit by digit and within a digit thread by thread,
//           so that pairs keep their order; each thread moves its part. Which digits need a pass is found in one reading.
// EXPECT    near the number of cores until memory is busy: a pass reads a pair twice and writes it once.
// NUMERICS  copies.
// NEEDS     32 bytes a pair.
// TRIED     -
#include <omp.h>

#include <array>
#include <utility>
#include <vector>

#include "harness/core/registrar.h"
#include "reference/radix_sort/radix_sort.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/radix_sort/cpu/05_threads.cpp"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "kernels/common/sort_pairs-inl.h"

HWY_BEFORE_NAMESPACE();
namespace klab {
namespace {
namespace HWY_NAMESPACE {

void scatter(const SortPair* from, int64_t begin, int64_t end, int64_t shift, uint32_t* next, SortPair* to,
             bool stream) {
  sort_scatter(from, begin, end, shift, next, to, stream);
}

}  // namespace HWY_NAMESPACE
}  // namespace
}  // namespace klab
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace klab {
namespace {

HWY_EXPORT(scatter);

constexpr int64_t kLeast = 4096;  // pairs for which threads are worth waking

using Counts = std::array<uint32_t, kSortDigits>;

/// Counts of all threads become their first places.
void hand_out(std::vector<Counts>& counts) {
  uint32_t before = 0;
  for (size_t d = 0; d < kSortDigits; ++d)
    for (Counts& own : counts) {
      const uint32_t count = own[d];
      own[d] = before;
      before += count;
    }
}

void move_all(int64_t n, int64_t shift, int threads, const SortPair* from, SortPair* to) {
  std::vector<Counts> counts;
#pragma omp parallel num_threads(threads)
  {
#pragma omp single
    counts.resize(size_t(omp_get_num_threads()));
    const auto mine = int64_t(omp_get_thread_num()), all = int64_t(counts.size());
    const int64_t begin = n * mine / all, end = n * (mine + 1) / all;
    Counts own{};
    for (int64_t i = begin; i < end; ++i) ++own[sort_digit(from[i].key, shift)];
    counts[size_t(mine)] = own;
#pragma omp barrier
#pragma omp single
    hand_out(counts);
    own = counts[size_t(mine)];
    HWY_DYNAMIC_DISPATCH(scatter)(from, begin, end, shift, own.data(), to, n >= kSortStreamed);
  }
}

/// Puts pairs together. Returns the bits in which keys differ.
uint64_t gather(const RadixSort::Args<float>& x, SortPair* to) {
  uint64_t differ = 0;
#pragma omp parallel for schedule(static) reduction(| : differ) if (x.shape.n > kLeast)
  for (int64_t i = 0; i < x.shape.n; ++i) {
    to[i] = {uint64_t(x.keys[i]), uint32_t(x.values[i]), 0};
    differ |= to[i].key ^ uint64_t(x.keys[0]);
  }
  return differ;
}

void run(const RadixSort::Args<float>& x) {
  const int64_t n = x.shape.n;
  if (n == 0) return;
  auto from = sort_pairs(n), to = sort_pairs(n);
  const uint64_t differ = gather(x, from.get());
  for (int64_t k = 0; k < 8; ++k) {
    if (sort_digit(differ, 8 * k) == 0) continue;
    move_all(n, 8 * k, n > kLeast ? omp_get_max_threads() : 1, from.get(), to.get());
    std::swap(from, to);
  }
#pragma omp parallel for schedule(static) if (n > kLeast)
  for (int64_t i = 0; i < n; ++i) {
    x.sorted_keys[i] = int64_t(from.get()[i].key);
    x.sorted_values[i] = int32_t(from.get()[i].value);
  }
}

KLAB_VARIANT(RadixSort, {.run = run,
                         .parent = "04_lines",
                         .tiles = {256, kLeast},
                         .expect = {.shape = {1 << 20, 45}, .over_parent = 1.2}});

}  // namespace
}  // namespace klab
#endif
