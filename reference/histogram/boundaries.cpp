// Where histogram turns: the last bin and the first key that has none, bins that stay empty, keys that are all alike.
#include <algorithm>

#include "reference/boundaries.h"
#include "reference/histogram/histogram.h"

namespace klab {

const Boundary<Histogram> kLast("keys that have a bin", {"keys"}, {"x.keys[i] < bins"}, kThreeSides,
                                [](const auto& a, Sides& met) {
                                  for (int64_t i = 0; i < a.shape.n; ++i) met.compare(a.keys[i], 256U);
                                });
const Boundary<Histogram> kEnds("keys of the last bin", {"keys"}, {}, kThreeSides,
                                [](const auto& a, Sides& met) {
                                  for (int64_t i = 0; i < a.shape.n; ++i) met.compare(a.keys[i], 255U);
                                });
const Boundary<Histogram> kSign("bit 31 of a key", {"keys"}, {}, kEither, [](const auto& a, Sides& met) {
  for (int64_t i = 0; i < a.shape.n; ++i) met.holds(a.keys[i] >> 31 != 0);
});
const Boundary<Histogram> kAlike("all keys are equal", {"keys"}, {}, kEither, [](const auto& a, Sides& met) {
  met.holds(a.shape.n > 1 &&
            std::all_of(a.keys, a.keys + a.shape.n, [&](uint32_t key) { return key == a.keys[0]; }));
});
const ResultBoundary<Histogram> kEmpty("a bin stays empty", {"keys"}, {}, kEither,
                                       [](const auto& a, Sides& met) {
                                         for (int64_t b = 0; b < Histogram::bins; ++b)
                                           met.holds(a.counts[b] == 0);
                                       });

}  // namespace klab
