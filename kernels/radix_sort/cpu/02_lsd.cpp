// radix_sort.cpu.02_lsd: eight bits at a time, from the lowest.
//
// CHANGE    no comparisons: a pass counts how often each digit occurs, adds the counts up to places, and puts every pair at
//           the next place of its digit. Passes from the lowest digit to the highest leave the order of those before them.
//           (Knuth, "The Art of Computer Programming", vol. 3, section 5.2.5.)
// EXPECT    bits/8 passes of one count and one move each, none of which waits for a guess; 256 places to write to are 256
//           lines, half of L1.
// NUMERICS  copies.
// NEEDS     12 bytes a pair.
#include <vector>

#include "harness/core/registrar.h"
#include "reference/radix_sort/radix_sort.h"

namespace klab {
namespace {

constexpr int64_t kDigits = 256;

int64_t digit_of(int64_t key, int64_t shift) { return int64_t(uint64_t(key) >> shift) & (kDigits - 1); }

void pass(int64_t n, int64_t shift, const int64_t* keys, const int32_t* values, int64_t* to_keys,
          int32_t* to_values) {
  int64_t next[kDigits] = {};
  for (int64_t i = 0; i < n; ++i) ++next[digit_of(keys[i], shift)];
  int64_t before = 0;
  for (int64_t& place : next) {
    const int64_t count = place;
    place = before;
    before += count;
  }
  for (int64_t i = 0; i < n; ++i) {
    const int64_t to = next[digit_of(keys[i], shift)]++;
    to_keys[to] = keys[i];
    to_values[to] = values[i];
  }
}

void run(const RadixSort::Args<float>& x) {
  const auto [n, bits] = x.shape;
  const int64_t passes = (bits + 7) / 8;
  std::vector<int64_t> keys(static_cast<size_t>(n));
  std::vector<int32_t> values(static_cast<size_t>(n));
  const int64_t* from_keys = x.keys;
  const int32_t* from_values = x.values;
  for (int64_t k = 0; k < passes; ++k) {
    const bool last_here = (passes - k) % 2 == 1;  // the last pass ends in the output
    int64_t* to_keys = last_here ? x.sorted_keys : keys.data();
    int32_t* to_values = last_here ? x.sorted_values : values.data();
    pass(n, 8 * k, from_keys, from_values, to_keys, to_values);
    from_keys = to_keys;
    from_values = to_values;
  }
}

KLAB_VARIANT(RadixSort, {.run = run,
                         .parent = "01_merge",
                         .tiles = {256},
                         .expect = {.shape = {1 << 20, 45}, .over_parent = 3}});

}  // namespace
}  // namespace klab
