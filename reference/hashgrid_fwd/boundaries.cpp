// Where hashgrid_fwd turns: borders of the cube and of cells, levels that are dense.
#include "reference/hashgrid_fwd/boundaries.h"

namespace klab {

const HashgridBoundaries<HashgridFwd> kShared(HashgridCode{
    .dense = {"points <= limit", "std::min((points + 7)"}});

const Boundary<HashgridFwd> kOne("levels", {"levels"}, {"levels < 2"}, kOn | kAbove,
                                 [](const auto& a, Sides& met) { met.compare(a.shape.levels, 1); });
const NoBoundary<HashgridFwd> kRest(
    {{"std::max(0.0, 1 - std::abs(p", "weights of corners that a kernel does not read are 0"},
     {"std::min(1.0, a.weight[k]", "a bound of rounding errors, which no kernel computes"},
     {"e != d)", "a bound of rounding errors, which no kernel computes"},
     {" >= axes[d].count", "a bound of rounding errors, which no kernel computes"},
     {"s.features == 1 || s.features == 2 || s.features == 4 || s.features == 8",
      "rejects a layout that is not legal"},
     {"s.n >= 0 && (s.dim == 2 || s.dim == 3) && s.levels >= 1 && s.levels <= 32",
      "rejects a layout that is not legal"},
     {"s.log2_table >= 1 && s.log2_table <= 28 && s.base >= 1 && s.finest >= s.base",
      "rejects a layout that is not legal"},
     {"s.finest <= int64_t(1) << 20 && (s.coherent == 0 || s.coherent == 1)",
      "rejects a layout that is not legal"},
     {"std::min(level.entries, s.n", "prices the op"},
     {"tables.back().bytes == bytes", "prices the op"},
     {"s.features == 1 ? 4.0", "prices the op"},
     {"dim == 2 || dim == 3,", "rejects a layout that is not legal"},
     {"levels >= 1,", "rejects a layout that is not legal"},
     {"log2_table >= 1 && log2_table <= 28,", "rejects a layout that is not legal"},
     {"base >= 1,", "rejects a layout that is not legal"},
     {"growth >= 1,", "rejects a layout that is not legal"},
     {"scale <= double(kFinest", "rejects a layout that is not legal"},
     {"index % level.entries", "wraps the far corner of the last point, whose weight is 0"},
     {"std::sort(", "prices the op"},
     {"entries[end] == entries[i]", "prices the op"},
     {"end < entries.size()", "prices the op"},
     {"end - i == 1", "prices the op"},
     {"use.points > 0", "prices the op"}});

}  // namespace klab
