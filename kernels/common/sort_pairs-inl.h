// Pairs of a radix sort in lines: what the rungs that write by the line have in common. Included by kernel files inside
// Highway's foreach_target, once a target.
#ifndef KLAB_KERNELS_COMMON_SORT_PAIRS_H_
#define KLAB_KERNELS_COMMON_SORT_PAIRS_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>

namespace klab {
namespace {

struct SortPair {
  uint64_t key;
  uint32_t value;
  uint32_t unused;
};
constexpr int64_t kSortDigits = 256;
constexpr uint32_t kSortLine = 4;           // pairs in a line of 64 bytes
constexpr int64_t kSortStreamed = 1 << 17;  // pairs from which on caches do not hold both arrays

struct SortPairsFree {
  void operator()(SortPair* p) const { ::operator delete (p, std::align_val_t{64}); }
};
/// n pairs that begin at a line, content undefined.
inline std::unique_ptr<SortPair, SortPairsFree> sort_pairs(int64_t n) {
  return std::unique_ptr<SortPair, SortPairsFree>(
      static_cast<SortPair*>(::operator new (size_t(n) * sizeof(SortPair), std::align_val_t{64})));
}

inline size_t sort_digit(uint64_t key, int64_t shift) { return size_t(key >> shift) & (kSortDigits - 1); }

}  // namespace
}  // namespace klab

#endif

#if defined(KLAB_KERNELS_COMMON_SORT_PAIRS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef KLAB_KERNELS_COMMON_SORT_PAIRS_INL_H_
#undef KLAB_KERNELS_COMMON_SORT_PAIRS_INL_H_
#else
#define KLAB_KERNELS_COMMON_SORT_PAIRS_INL_H_
#endif

#include "hwy/cache_control.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace klab {
namespace {
namespace HWY_NAMESPACE {

/// Pairs [begin,end) of `from` to the places of their digits, by whole lines where a line is one digit's own. next: the first
/// place of each digit; afterward the one behind its last. `stream`: past the caches, for what these do not hold.
HWY_INLINE void sort_scatter(const SortPair* from, int64_t begin, int64_t end, int64_t shift, uint32_t* next,
                             SortPair* to, bool stream) {
  namespace hn = hwy::HWY_NAMESPACE;
  const hn::CappedTag<uint64_t, 8> d;
  alignas(64) SortPair lines[kSortDigits][kSortLine];  // a line of each digit, as it will lie in `to`
  uint32_t first[kSortDigits];
  std::copy_n(next, kSortDigits, first);
  for (int64_t i = begin; i < end; ++i) {
    const SortPair pair = from[i];
    const size_t digit = sort_digit(pair.key, shift);
    const uint32_t place = next[digit]++;
    lines[digit][place % kSortLine] = pair;
    if (place % kSortLine != kSortLine - 1) continue;
    if (place >= first[digit] + (kSortLine - 1)) {
      auto* out = reinterpret_cast<uint64_t*>(to + (place - (kSortLine - 1)));
      const auto* in = reinterpret_cast<const uint64_t*>(lines[digit]);
      for (size_t k = 0; k < 8; k += hn::Lanes(d))
        stream ? hn::Stream(hn::Load(d, in + k), d, out + k) : hn::Store(hn::Load(d, in + k), d, out + k);
    } else {  // the line begins with pairs of another digit
      for (uint32_t p = first[digit]; p <= place; ++p) to[p] = lines[digit][p % kSortLine];
    }
  }
  for (size_t digit = 0; digit < kSortDigits; ++digit)  // what is left in the lines
    for (uint32_t p = std::max(first[digit], next[digit] / kSortLine * kSortLine); p < next[digit]; ++p)
      to[p] = lines[digit][p % kSortLine];
  hwy::FlushStream();
}

}  // namespace HWY_NAMESPACE
}  // namespace
}  // namespace klab
HWY_AFTER_NAMESPACE();

#endif
