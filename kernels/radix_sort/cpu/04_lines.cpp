// radix_sort.cpu.04_lines: pairs leave by the line.
//
// CHANGE    key and value travel together, four pairs to a line. Each digit has a line of its own in L1; when it is full it goes
//           to its place by a streaming store. (Satish et al., "Fast sort on CPUs and GPUs", SIGMOD 2010: buffers against misses.)
// EXPECT    256 places to write to are 256 pages: every store of the parent may miss the translation of addresses, twice a pair,
//           and reads the line first. Here that happens once for four pairs, and nothing is read.
// NUMERICS  copies.
// NEEDS     32 bytes a pair.
// TRIED     -
#include <utility>
#include <vector>

#include "harness/core/registrar.h"
#include "reference/radix_sort/radix_sort.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/radix_sort/cpu/04_lines.cpp"
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

constexpr int64_t kPasses = 8;

struct Histograms {
  uint32_t count[kPasses][kSortDigits] = {};
};

/// Puts pairs together and counts all digits on the way.
void gather(const RadixSort::Args<float>& x, int64_t passes, SortPair* to, Histograms& h) {
  for (int64_t i = 0; i < x.shape.n; ++i) {
    const auto key = uint64_t(x.keys[i]);
    to[i] = {key, uint32_t(x.values[i]), 0};
    for (int64_t k = 0; k < passes; ++k) ++h.count[k][sort_digit(key, 8 * k)];
  }
}

/// Counts become the first places of the digits.
void add_up(uint32_t* next) {
  uint32_t before = 0;
  for (int64_t d = 0; d < kSortDigits; ++d) {
    const uint32_t count = next[d];
    next[d] = before;
    before += count;
  }
}

void run(const RadixSort::Args<float>& x) {
  const auto [n, bits] = x.shape;
  if (n == 0) return;
  Histograms h;
  auto from = sort_pairs(n), to = sort_pairs(n);
  gather(x, (bits + 7) / 8, from.get(), h);
  for (int64_t k = 0; k < (bits + 7) / 8; ++k) {
    uint32_t* next = h.count[k];
    if (next[sort_digit(uint64_t(x.keys[0]), 8 * k)] == n) continue;  // one value has all
    add_up(next);
    HWY_DYNAMIC_DISPATCH(scatter)(from.get(), 0, n, 8 * k, next, to.get(), n >= kSortStreamed);
    std::swap(from, to);
  }
  for (int64_t i = 0; i < n; ++i) {
    x.sorted_keys[i] = int64_t(from.get()[i].key);
    x.sorted_values[i] = int32_t(from.get()[i].value);
  }
}

KLAB_VARIANT(RadixSort, {.run = run,
                         .parent = "03_one_count",
                         .tiles = {4, 256},
                         .expect = {.shape = {1 << 22, 64}, .over_parent = 1.3}});

}  // namespace
}  // namespace klab
#endif
