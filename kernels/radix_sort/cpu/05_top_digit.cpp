// radix_sort.cpu.05_top_digit: the highest digit first, the others in a cache.
//
// CHANGE    one pass by the highest digit cuts the pairs into 256 buckets, which threads take as they become
//           free and sort by their other bits, from the lowest, ten at a time, from the bucket's place to the
//           thread's own memory and back. That memory, and the list of buckets, are kept between calls.
// EXPECT    pairs go through memory twice, not once a digit: a bucket of 2^22 pairs has 200 KB, so its passes
//           stay in L2, and the many write positions of a digit of ten bits are served by L2 as well. Nothing
//           is asked of the system, which gives memory of four megabytes a page at a time, with zeros. At
//           least 1.5 times faster.
// NUMERICS  copies.
// NEEDS     12 bytes a pair, and of the largest bucket for each thread; keys that are spread over the values
//           of their highest digit, else a bucket is as large as all.
// TRIED     see NOTES.md, cpu.05_top_digit
#include <omp.h>

#include <algorithm>
#include <array>
#include <bit>
#include <vector>

#include "harness/core/registrar.h"
#include "kernels/common/scratch.h"
#include "reference/radix_sort/radix_sort.h"

namespace klab {
namespace {

constexpr int64_t kTop = 256;      // buckets
constexpr int64_t kDigit = 10;     // bits of a pass within one
constexpr int64_t kPlaces = 1024;  // 2^kDigit
constexpr int64_t kPasses = 7;     // of kDigit bits, at most
constexpr int64_t kOne = 1 << 16;  // pairs that are one bucket, which L2 holds
constexpr int64_t kLeast = 4096;   // pairs for which threads are worth waking
constexpr int64_t kFew = 24;       // pairs of a bucket for which comparing is quicker than counting

struct Pairs {
  int64_t* keys;
  int32_t* values;
  Pairs from(int64_t at) const { return {keys + at, values + at}; }
};

/// Room for pairs, of unspecified content until the next call.
Pairs pairs_in(Scratch& scratch, int64_t count) {
  auto* keys = reinterpret_cast<int64_t*>(scratch.floats(3 * count + 16));
  return {keys, reinterpret_cast<int32_t*>(keys + count)};
}

int64_t digit_of(int64_t key, int64_t shift, int64_t places) {
  return int64_t(uint64_t(key) >> shift) & (places - 1);
}

/// Bits in which keys differ.
uint64_t varying(int64_t n, const int64_t* keys) {
  uint64_t differ = 0;
#pragma omp parallel for schedule(static) reduction(| : differ) if (n > kLeast)
  for (int64_t i = 0; i < n; ++i) differ |= uint64_t(keys[i]) ^ uint64_t(keys[0]);
  return differ;
}

using Counts = std::array<uint32_t, kTop>;

/// Counts of all threads become their first places; the buckets' begins go to `begin` [kTop + 1].
void hand_out(std::vector<Counts>& counts, int64_t* begin) {
  uint32_t before = 0;
  for (size_t d = 0; d < kTop; ++d) {
    begin[d] = before;
    for (Counts& own : counts) {
      const uint32_t count = own[d];
      own[d] = before;
      before += count;
    }
  }
  begin[kTop] = before;
}

void cut_by_top(int64_t n, int64_t shift, int threads, Pairs from, Pairs to, int64_t* begin_of) {
  std::vector<Counts> counts;
#pragma omp parallel num_threads(threads)
  {
#pragma omp single
    counts.resize(size_t(omp_get_num_threads()));
    const auto mine = int64_t(omp_get_thread_num()), all = int64_t(counts.size());
    const int64_t begin = n * mine / all, end = n * (mine + 1) / all;
    Counts own{};
    for (int64_t i = begin; i < end; ++i) ++own[size_t(digit_of(from.keys[i], shift, kTop))];
    counts[size_t(mine)] = own;
#pragma omp barrier
#pragma omp single
    hand_out(counts, begin_of);
    own = counts[size_t(mine)];
    for (int64_t i = begin; i < end; ++i) {
      const uint32_t place = own[size_t(digit_of(from.keys[i], shift, kTop))]++;
      to.keys[place] = from.keys[i];
      to.values[place] = from.values[i];
    }
  }
}

void insert_each(int64_t n, Pairs p) {
  for (int64_t i = 1; i < n; ++i) {
    const int64_t key = p.keys[i];
    const int32_t value = p.values[i];
    int64_t j = i;
    for (; j > 0 && uint64_t(p.keys[j - 1]) > uint64_t(key); --j) {
      p.keys[j] = p.keys[j - 1];
      p.values[j] = p.values[j - 1];
    }
    p.keys[j] = key;
    p.values[j] = value;
  }
}

/// A bucket by the digits at `shifts`; the result is where it was.
void sort_bucket(int64_t n, const std::vector<int64_t>& shifts, Pairs bucket, Scratch& scratch) {
  if (n <= kFew) return insert_each(n, bucket);
  uint32_t counts[kPasses][kPlaces];
  std::fill_n(counts[0], int64_t(shifts.size()) * kPlaces, 0U);
  for (int64_t i = 0; i < n; ++i)
    for (size_t k = 0; k < shifts.size(); ++k) ++counts[k][digit_of(bucket.keys[i], shifts[k], kPlaces)];
  Pairs from = bucket, to = pairs_in(scratch, n);
  for (size_t k = 0; k < shifts.size(); ++k) {
    uint32_t* next = counts[k];
    if (next[digit_of(from.keys[0], shifts[k], kPlaces)] == uint32_t(n)) continue;  // all have the same
    uint32_t before = 0;
    for (int64_t d = 0; d < kPlaces; ++d) {
      const uint32_t count = next[d];
      next[d] = before;
      before += count;
    }
    for (int64_t i = 0; i < n; ++i) {
      const uint32_t place = next[digit_of(from.keys[i], shifts[k], kPlaces)]++;
      to.keys[place] = from.keys[i];
      to.values[place] = from.values[i];
    }
    std::swap(from, to);
  }
  if (from.keys == bucket.keys) return;
  std::copy_n(from.keys, n, bucket.keys);
  std::copy_n(from.values, n, bucket.values);
}

void run(const RadixSort::Args<float>& x) {
  const int64_t n = x.shape.n;
  if (n == 0) return;
  const uint64_t differ = varying(n, x.keys);
  const int64_t highest = 64 - std::countl_zero(differ), top = std::max<int64_t>(0, highest - 8);
  std::vector<int64_t> shifts;
  for (int64_t shift = 0; shift < (n > kOne ? top : highest); shift += kDigit)
    if ((differ >> shift & (kPlaces - 1)) != 0) shifts.push_back(shift);
  const int threads = n > kLeast ? omp_get_max_threads() : 1;
  const Pairs given{const_cast<int64_t*>(x.keys), const_cast<int32_t*>(x.values)};
  const Pairs sorted{x.sorted_keys, x.sorted_values};
  static thread_local Scratch memory;
  if (n <= kOne) {
    std::copy_n(given.keys, n, sorted.keys);
    std::copy_n(given.values, n, sorted.values);
    return sort_bucket(n, shifts, sorted, memory);
  }
  int64_t begin[kTop + 1];
  cut_by_top(n, top, threads, given, sorted, begin);
#pragma omp parallel for schedule(dynamic, 1) num_threads(threads)
  for (int64_t d = 0; d < kTop; ++d) {
    static thread_local Scratch own;
    sort_bucket(begin[d + 1] - begin[d], shifts, sorted.from(begin[d]), own);
  }
}

KLAB_VARIANT(RadixSort, {.run = run,
                         .parent = "04_threads",
                         .tiles = {256, kPlaces, kLeast, kOne},
                         .expect = {.shape = {1 << 20, 45}, .over_parent = 1.5}});

}  // namespace
}  // namespace klab
