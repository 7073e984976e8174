// radix_sort.cpu.70_not_stable: a pass goes through the pairs from the last to the first.
// Must be caught as Fault::wrong_value: pairs of equal digits change their order, so that the order of
// earlier passes is lost.
#include <vector>

#include "reference/radix_sort/radix_sort.h"
#include "tests/mutants/mutant.h"

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
  for (int64_t i = n - 1; i >= 0; --i) {
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

KLAB_MUTANT(RadixSort, Fault::wrong_value, {.run = run, .numerics = {.growth = Growth::linear}});

}  // namespace
}  // namespace klab
