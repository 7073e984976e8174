// Where hashtable_fwd turns: borders of the cube and of cells, levels that are dense or no power of two.
#include "reference/hashtable_fwd/boundaries.h"

namespace klab {

const HashtableBoundaries<HashtableFwd> kShared(HashtableCode{
    .dense = {"all <= double(entries)"},
    .power = {"index < entries ?"},
    .blends = {"blend == table_blend::nearest", "blend == table_blend::smoothstep"},
    .line = {"== std::floor(p) ?"}});

const Boundary<HashtableFwd> kHash("hash", {"hash"}, {}, kThreeSides,
                                   [](const auto& a, Sides& met) { met.compare(a.shape.hash, 1); });
const NoBoundary<HashtableFwd> kRest(
    {{"e != d)", "a bound of rounding errors, which no kernel computes"},
     {"a.count > 1 ?", "a bound of rounding errors, which no kernel computes"},
     {"std::max(0.0, 1 - std::abs(p", "weights of corners that a kernel does not read are 0"},
     {"std::min(1.0, a.weight[k]", "a bound of rounding errors, which no kernel computes"},
     {" >= axes[d].count", "a bound of rounding errors, which no kernel computes"},
     {"s.features == 1 || s.features == 2 || s.features == 4 || s.features == 8",
      "rejects a layout that is not legal"},
     {"s.n >= 0 && s.levels >= 1 && s.levels <= 32 && features && s.entries % 8 == 0",
      "rejects a layout that is not legal"},
     {"s.entries >= 8 * s.levels && s.entries <= int64_t(1) << 28 && s.hash >= 0",
      "rejects a layout that is not legal"},
     {"s.hash < table_hash::count && s.blend >= 0 && s.blend < table_blend::count",
      "rejects a layout that is not legal"},
     {"s.coherent == 0 || s.coherent == 1", "rejects a layout that is not legal"},
     {"s.blend == table_blend::nearest;", "prices the op"},
     {"std::min(level, points", "prices the op"},
     {"s.blend == table_blend::smoothstep ? 8", "prices the op"},
     {"s.features == 1 ? 4.0", "prices the op"},
     {"(uint32_t(1) << bits) < entries", "counts bits"},
     {"scale >= 0 && scale <= 0x1p20F", "rejects a layout that is not legal"},
     {"entries < 8 || entries > int64_t(1) << 28 || entries % 8 != 0", "rejects a layout that is not legal"},
     {"index < level.entries ?", "wraps the far corner of the last point, whose weight is 0"},
     {"bits > 0 ?", "origin of an entry when a table changes its size, not part of the op"}});

}  // namespace klab
