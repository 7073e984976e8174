#include "reference/radix_sort/radix_sort.h"

#include <algorithm>
#include <numeric>

#include "reference/generator.h"

namespace klab {

void RadixSort::arrange(const Args<float>& x, Generator& random) {
  const auto [n, bits] = x.shape;
  auto* keys = const_cast<int64_t*>(x.keys);
  auto* values = const_cast<int32_t*>(x.values);
  const uint64_t mask = bits == 64 ? ~uint64_t{0} : (uint64_t{1} << bits) - 1;
  // More equal digits than a counter of 16 bits holds, where there are that many.
  const uint64_t kind = random.widely && n > 1 << 16 ? 6 : random() % (random.widely ? 6 : 2);
  const uint64_t few = 1 + random() % 9, salt = random();
  for (int64_t i = 0; i < n; ++i) {
    uint64_t key = random();
    if (kind == 1) key = salt ^ (key % few) * 0x9e3779b97f4a7c15ULL;
    if (kind == 2) key = uint64_t(i);
    if (kind == 3) key = uint64_t(n - i);
    if (kind == 4) key = salt;
    if (kind == 5) key = random() % 2 ? ~uint64_t{0} : 0;
    if (kind == 6) key = salt ^ (i % 64 == 0 ? key % 256 : 0);
    keys[i] = int64_t(key & mask);
    values[i] = int32_t(uint32_t(random()));
  }
}

void RadixSort::reference(const Args<double>& x, const Args<double>&) {
  const int64_t n = x.shape.n;
  std::vector<int64_t> order(static_cast<size_t>(n));
  std::iota(order.begin(), order.end(), int64_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](int64_t a, int64_t b) { return uint64_t(x.keys[a]) < uint64_t(x.keys[b]); });
  for (int64_t i = 0; i < n; ++i) {
    x.sorted_keys[i] = x.keys[order[size_t(i)]];
    x.sorted_values[i] = x.values[order[size_t(i)]];
  }
}

}  // namespace klab
