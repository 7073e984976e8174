// radix_sort.cpu.03_one_count: all digits counted in one reading.
//
// CHANGE    how often each digit occurs does not depend on the order: all histograms come from the first
//           reading. A digit that all pairs share needs no pass.
// EXPECT    half of the readings of keys are gone, and so are passes over digits without information, like
//           the upper bits of depths.
// NUMERICS  copies.
// NEEDS     12 bytes a pair.
#include <algorithm>
#include <vector>

#include "harness/core/registrar.h"
#include "reference/radix_sort/radix_sort.h"

namespace klab {
namespace {

constexpr int64_t kDigits = 256;
constexpr int64_t kPasses = 8;

int64_t digit_of(int64_t key, int64_t shift) { return int64_t(uint64_t(key) >> shift) & (kDigits - 1); }

struct Histograms {
  uint32_t count[kPasses][kDigits] = {};
};

void count_all(int64_t n, int64_t passes, const int64_t* keys, Histograms& h) {
  for (int64_t i = 0; i < n; ++i)
    for (int64_t k = 0; k < passes; ++k) ++h.count[k][digit_of(keys[i], 8 * k)];
}

void pass(int64_t n, int64_t shift, uint32_t* next, const int64_t* keys, const int32_t* values,
          int64_t* to_keys, int32_t* to_values) {
  uint32_t before = 0;
  for (int64_t d = 0; d < kDigits; ++d) {
    const uint32_t count = next[d];
    next[d] = before;
    before += count;
  }
  for (int64_t i = 0; i < n; ++i) {
    const uint32_t to = next[digit_of(keys[i], shift)]++;
    to_keys[to] = keys[i];
    to_values[to] = values[i];
  }
}

void run(const RadixSort::Args<float>& x) {
  const auto [n, bits] = x.shape;
  if (n == 0) return;
  Histograms h;
  count_all(n, (bits + 7) / 8, x.keys, h);
  std::vector<int64_t> needed;
  for (int64_t k = 0; k < (bits + 7) / 8; ++k)
    if (h.count[k][digit_of(x.keys[0], 8 * k)] < n) needed.push_back(k);
  std::vector<int64_t> keys(static_cast<size_t>(n));
  std::vector<int32_t> values(static_cast<size_t>(n));
  const int64_t* from_keys = x.keys;
  const int32_t* from_values = x.values;
  for (size_t k = 0; k < needed.size(); ++k) {
    const bool last_here = (needed.size() - k) % 2 == 1;  // the last pass ends in the output
    int64_t* to_keys = last_here ? x.sorted_keys : keys.data();
    int32_t* to_values = last_here ? x.sorted_values : values.data();
    pass(n, 8 * needed[k], h.count[needed[k]], from_keys, from_values, to_keys, to_values);
    from_keys = to_keys;
    from_values = to_values;
  }
  if (!needed.empty()) return;
  std::copy_n(x.keys, n, x.sorted_keys);
  std::copy_n(x.values, n, x.sorted_values);
}

KLAB_VARIANT(RadixSort, {.run = run,
                         .parent = "02_lsd",
                         .tiles = {256},
                         .expect = {.shape = {1 << 20, 45}, .over_parent = 1.1}});

}  // namespace
}  // namespace klab
