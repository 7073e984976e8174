// Where radix_sort turns: keys that differ in one bit only, and keys that are equal.
#include "reference/boundaries.h"
#include "reference/radix_sort/radix_sort.h"

namespace klab {
namespace {

using Args = RadixSort::Args<double>;
using Drawn = RadixSort::Args<float>;

/// Calls visit(difference) with the bits in which neighbors in the given order differ.
void each_pair(const Args& a, auto&& visit) {
  for (int64_t i = 1; i < a.shape.n; ++i) visit(uint64_t(a.keys[i - 1]) ^ uint64_t(a.keys[i]));
}

/// Gives pairs of neighbors keys that differ in that bit only, the larger first.
void plant_bit(const Drawn& x, int64_t bit, Generator& random) {
  for (int64_t i = 1; i < x.shape.n; i += 2) {
    if (random() % 2 == 0) continue;
    const uint64_t key = uint64_t(x.keys[i - 1]) | uint64_t{1} << bit;
    drawn(x.keys[i - 1]) = int64_t(key);
    drawn(x.keys[i]) = int64_t(key ^ uint64_t{1} << bit);
  }
}

const Boundary<RadixSort> kKeys("order of two keys", {"keys"},
                                {"std::stable_sort(", "uint64_t(x.keys[a]) < uint64_t(x.keys[b])"},
                                kThreeSides, [](const auto& a, Sides& met) {
                                  for (int64_t i = 1; i < a.shape.n; ++i)
                                    met.compare(uint64_t(a.keys[i - 1]), uint64_t(a.keys[i]));
                                });
const Boundary<RadixSort> kStable("equal keys with other values", {"keys", "values"}, {}, kHolds,
                                  [](const auto& a, Sides& met) {
                                    for (int64_t i = 1; i < a.shape.n; ++i)
                                      if (a.keys[i - 1] == a.keys[i] && a.values[i - 1] != a.values[i])
                                        met.holds(true);
                                  });
const Boundary<RadixSort> kLowest(
    "keys differ in the lowest bit only", {"keys"}, {}, kEither,
    [](const auto& a, Sides& met) { each_pair(a, [&](uint64_t bits) { met.holds(bits == 1); }); },
    [](const auto& x, Generator& random) { plant_bit(x, 0, random); });
const Boundary<RadixSort> kHighest(
    "keys differ in the highest bit only", {"keys", "bits"}, {}, kEither,
    [](const auto& a, Sides& met) {
      each_pair(a, [&](uint64_t bits) { met.holds(bits == uint64_t{1} << (a.shape.bits - 1)); });
    },
    [](const auto& x, Generator& random) { plant_bit(x, x.shape.bits - 1, random); });
const Boundary<RadixSort> kSign("bit 63 of a key", {"keys", "bits"}, {}, kEither,
                                [](const auto& a, Sides& met) {
                                  for (int64_t i = 0; i < a.shape.n; ++i) met.holds(a.keys[i] < 0);
                                });
const Boundary<RadixSort> kWhole("all keys are equal", {"keys"}, {}, kEither, [](const auto& a, Sides& met) {
  bool equal = a.shape.n > 1;
  each_pair(a, [&](uint64_t bits) { equal = equal && bits == 0; });
  met.holds(equal);
});

}  // namespace
}  // namespace klab
