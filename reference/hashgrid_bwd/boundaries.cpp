// Where hashgrid_bwd turns: borders of the cube and of cells, levels that are dense.
#include "reference/hashgrid_fwd/boundaries.h"
#include "reference/hashgrid_bwd/hashgrid_bwd.h"

namespace klab {

const HashgridBoundaries<HashgridBwd> kShared(HashgridCode{.dense = {}});
const NoBoundary<HashgridBwd> kRest(
    {{"std::max(0.0, 1 - std::abs(p", "weights of corners that a kernel does not read are 0"},
     {"std::min(1.0, a.weight[k]", "a bound of rounding errors, which no kernel computes"},
     {"e != d)", "a bound of rounding errors, which no kernel computes"},
     {"k > 0 ?", "a bound of rounding errors, which no kernel computes"}});

}  // namespace klab
