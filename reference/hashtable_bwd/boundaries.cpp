// Where hashtable_bwd turns: borders of the cube and of cells, levels that are dense or no power of two.
#include "reference/hashtable_fwd/boundaries.h"
#include "reference/hashtable_bwd/hashtable_bwd.h"

namespace klab {

const HashtableBoundaries<HashtableBwd> kShared(HashtableCode{
    .dense = {}, .power = {}, .blends = {}, .line = {}});
const NoBoundary<HashtableBwd> kRest({{"e != d)", "a bound of rounding errors, which no kernel computes"},
                                      {"k > 0 ?", "a bound of rounding errors, which no kernel computes"}});

}  // namespace klab
