// radix_sort.cpu.04_threads: every thread has a part of the pairs.
//
// CHANGE    each thread counts the digits of its part; places are handed out digit by digit and within a digit thread by thread,
//           so that pairs keep their order; each thread moves its part. Which digits need a pass is found in one reading.
// EXPECT    near the number of cores until memory is busy: a pass reads 12 bytes a pair twice and writes them to lines that it
//           reads first.
// NUMERICS  copies.
// NEEDS     12 bytes a pair.
#include <omp.h>

#include <algorithm>
#include <array>
#include <vector>

#include "harness/core/registrar.h"
#include "reference/radix_sort/radix_sort.h"

namespace klab {
namespace {

constexpr int64_t kDigits = 256;
constexpr int64_t kLeast = 4096;  // pairs for which threads are worth waking

int64_t digit_of(int64_t key, int64_t shift) { return int64_t(uint64_t(key) >> shift) & (kDigits - 1); }

struct Pairs {
  int64_t* keys;
  int32_t* values;
};

using Counts = std::array<uint32_t, kDigits>;

/// Counts of all threads become their first places.
void hand_out(std::vector<Counts>& counts) {
  uint32_t before = 0;
  for (size_t d = 0; d < kDigits; ++d)
    for (Counts& own : counts) {
      const uint32_t count = own[d];
      own[d] = before;
      before += count;
    }
}

void move_all(int64_t n, int64_t shift, int threads, Pairs from, Pairs to) {
  std::vector<Counts> counts;
#pragma omp parallel num_threads(threads)
  {
#pragma omp single
    counts.resize(size_t(omp_get_num_threads()));
    const auto mine = int64_t(omp_get_thread_num()), all = int64_t(counts.size());
    const int64_t begin = n * mine / all, end = n * (mine + 1) / all;
    Counts own{};
    for (int64_t i = begin; i < end; ++i) ++own[size_t(digit_of(from.keys[i], shift))];
    counts[size_t(mine)] = own;
#pragma omp barrier
#pragma omp single
    hand_out(counts);
    own = counts[size_t(mine)];
    for (int64_t i = begin; i < end; ++i) {
      const uint32_t place = own[size_t(digit_of(from.keys[i], shift))]++;
      to.keys[place] = from.keys[i];
      to.values[place] = from.values[i];
    }
  }
}

/// Bits in which keys differ.
uint64_t varying(int64_t n, const int64_t* keys) {
  uint64_t differ = 0;
#pragma omp parallel for schedule(static) reduction(| : differ) if (n > kLeast)
  for (int64_t i = 0; i < n; ++i) differ |= uint64_t(keys[i]) ^ uint64_t(keys[0]);
  return differ;
}

void run(const RadixSort::Args<float>& x) {
  const int64_t n = x.shape.n;
  if (n == 0) return;
  const uint64_t differ = varying(n, x.keys);
  std::vector<int64_t> needed;
  for (int64_t k = 0; k < 8; ++k)
    if (digit_of(int64_t(differ), 8 * k) != 0) needed.push_back(k);
  std::vector<int64_t> keys(static_cast<size_t>(n));
  std::vector<int32_t> values(static_cast<size_t>(n));
  Pairs from{const_cast<int64_t*>(x.keys), const_cast<int32_t*>(x.values)};
  for (size_t k = 0; k < needed.size(); ++k) {
    const bool last_here = (needed.size() - k) % 2 == 1;  // the last pass ends in the output
    const Pairs to = last_here ? Pairs{x.sorted_keys, x.sorted_values} : Pairs{keys.data(), values.data()};
    move_all(n, 8 * needed[k], n > kLeast ? omp_get_max_threads() : 1, from, to);
    from = to;
  }
  if (!needed.empty()) return;
  std::copy_n(x.keys, n, x.sorted_keys);
  std::copy_n(x.values, n, x.sorted_values);
}

KLAB_VARIANT(RadixSort, {.run = run,
                         .parent = "03_one_count",
                         .tiles = {256, kLeast},
                         .expect = {.shape = {1 << 20, 45}, .over_parent = 1.2}});

}  // namespace
}  // namespace klab
