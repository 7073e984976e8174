// radix_sort.cpu.01_merge: a merge sort, by comparisons.
//
// CHANGE    the naive way to a stable sort: runs of 1, 2, 4 ... pairs are merged, two at a time.
// EXPECT    log2(n) passes over all pairs, and in each an unpredictable comparison a pair: half of the
//           branches are mispredicted, some twenty cycles each.
// NUMERICS  copies.
#include <algorithm>
#include <utility>
#include <vector>

#include "harness/core/registrar.h"
#include "reference/radix_sort/radix_sort.h"

namespace klab {
namespace {

struct Pair {
  uint64_t key;
  int32_t value;
};

void merge(const Pair* left, const Pair* middle, const Pair* end, Pair* out) {
  const Pair* right = middle;
  while (left != middle && right != end) *out++ = right->key < left->key ? *right++ : *left++;
  out = std::copy(left, middle, out);
  std::copy(right, end, out);
}

void run(const RadixSort::Args<float>& x) {
  const int64_t n = x.shape.n;
  std::vector<Pair> from(static_cast<size_t>(n)), to(static_cast<size_t>(n));
  for (int64_t i = 0; i < n; ++i) from[size_t(i)] = {uint64_t(x.keys[i]), x.values[i]};
  for (int64_t width = 1; width < n; width *= 2) {
    for (int64_t begin = 0; begin < n; begin += 2 * width) {
      const int64_t middle = std::min(begin + width, n), end = std::min(begin + 2 * width, n);
      merge(from.data() + begin, from.data() + middle, from.data() + end, to.data() + begin);
    }
    std::swap(from, to);
  }
  for (int64_t i = 0; i < n; ++i) {
    x.sorted_keys[i] = int64_t(from[size_t(i)].key);
    x.sorted_values[i] = from[size_t(i)].value;
  }
}

KLAB_VARIANT(RadixSort, {.run = run});

}  // namespace
}  // namespace klab
