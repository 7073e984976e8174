// radix_sort.cpu.90_std_sort: std::sort of the C++ library.
//
// CHANGE    quicksort that falls back on heapsort, with insertion sort at the end, over pairs of key and place: the place
//           decides between equal keys, since std::sort is not stable.
// EXPECT    n·log2(n) comparisons, half of which are guessed wrong on random keys.
// NUMERICS  copies.
// NEEDS     16 bytes a pair.
#include <algorithm>
#include <vector>

#include "harness/core/registrar.h"
#include "reference/radix_sort/radix_sort.h"

namespace klab {
namespace {

struct Entry {
  uint64_t key;
  uint32_t place;
  int32_t value;
};

void run(const RadixSort::Args<float>& x) {
  const int64_t n = x.shape.n;
  std::vector<Entry> entries(static_cast<size_t>(n));
  for (int64_t i = 0; i < n; ++i) entries[size_t(i)] = {uint64_t(x.keys[i]), uint32_t(i), x.values[i]};
  std::sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) {
    return a.key < b.key || (a.key == b.key && a.place < b.place);
  });
  for (int64_t i = 0; i < n; ++i) {
    x.sorted_keys[i] = int64_t(entries[size_t(i)].key);
    x.sorted_values[i] = entries[size_t(i)].value;
  }
}

KLAB_VARIANT(RadixSort, {.run = run, .peer = true});

}  // namespace
}  // namespace klab
