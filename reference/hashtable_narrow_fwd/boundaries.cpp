// Where hashtable_narrow_fwd turns: where hashtable_fwd does, and the three formats.
#include "reference/hashtable_fwd/boundaries.h"
#include "reference/hashtable_narrow_fwd/hashtable_narrow_fwd.h"

namespace klab {

const HashtableBoundaries<HashtableNarrowFwd> kShared(HashtableCode{});

const Boundary<HashtableNarrowFwd> kHash("hash", {"hash"}, {}, kThreeSides,
                                         [](const auto& a, Sides& met) { met.compare(a.shape.hash, 1); });
const Boundary<HashtableNarrowFwd> kFormat("format", {"format"}, {"s.format == narrow_format::int8 ?"},
                                           kThreeSides, [](const auto& a, Sides& met) {
                                             met.compare(a.shape.format, narrow_format::bf16);
                                           });
const Boundary<HashtableNarrowFwd> kSign("byte", {"bytes"}, {}, kThreeSides, [](const auto& a, Sides& met) {
  const int64_t n = in_bytes(a.shape.format, a.shape.numbers());
  for (int64_t i = 0; i < n; ++i) met.compare(a.bytes[i], 0);
});
const NoBoundary<HashtableNarrowFwd> kRest({{"i % s.features",
                                             "finds the factor of a number, and every number has one"}});

}  // namespace klab
