// Where hashtable_fwd turns: borders of the cube and of cells, levels that are dense or no power of two.
#include <algorithm>
#include <cmath>

#include "reference/boundaries.h"
#include "reference/hashtable_fwd/hashtable_fwd.h"
#include "reference/hashtable_fwd/table_layout.h"

namespace klab {
namespace {

using Args = HashtableFwd::Args<double>;
using Drawn = HashtableFwd::Args<float>;

const Boundary<HashtableFwd> kLower("position", {"positions"}, {}, kOn | kAbove,
                                    [](const Args& a, Sides& met) {
                                      for (int64_t i = 0; i < a.shape.n * 3; ++i)
                                        met.compare(a.positions[i], 0);
                                    });
const Boundary<HashtableFwd> kUpper("position and the far border", {"positions"}, {}, kBelow | kOn,
                                    [](const Args& a, Sides& met) {
                                      for (int64_t i = 0; i < a.shape.n * 3; ++i)
                                        met.compare(a.positions[i], 1);
                                    });

/// Calls visit(level) for each level of the table.
void each_level(const Args& a, auto&& visit) {
  int64_t offset = 0;
  for (int64_t l = 0; l < a.shape.levels; offset += a.sizes[l++])
    visit(table_level(float(a.scales[l]), a.sizes[l], offset));
}

const Boundary<HashtableFwd> kDense("level is dense", {"scales", "sizes"}, {"all <= double(entries)"},
                                    kEither, [](const Args& a, Sides& met) {
                                      each_level(a, [&](const TableLevel& level) { met.holds(level.dense); });
                                    });
const Boundary<HashtableFwd> kPower("entries of a level are a power of two", {"sizes"}, {"index < entries ?"},
                                    kEither, [](const Args& a, Sides& met) {
                                      each_level(a, [&](const TableLevel& level) {
                                        if (!level.dense) met.holds(level.entries == level.mask + 1);
                                      });
                                    });
const Boundary<HashtableFwd> kBlends("weights", {"blend"},
                                     {"blend == table_blend::nearest", "blend == table_blend::smoothstep"},
                                     kThreeSides,
                                     [](const Args& a, Sides& met) { met.compare(a.shape.blend, 1); });
const Boundary<HashtableFwd> kLine(
    "position lies on a grid line", {"positions", "scales", "blend"}, {"== std::floor(p) ?"}, kEither,
    [](const Args& a, Sides& met) {
      for (int64_t l = 0; l < a.shape.levels; ++l)
        for (int64_t i = 0; i < std::min<int64_t>(3 * a.shape.n, 4096); ++i) {
          const double p = a.positions[i] * a.scales[l] + 0.5;
          met.holds(p == std::floor(p));
        }
    },
    [](const Drawn& x, Generator& random) {
      if (x.shape.blend == table_blend::nearest) return;  // the next grid point is another one
      for (int64_t l = 0; l < x.shape.levels; ++l) drawn(x.scales[l]) = float(uint32_t{1} << random() % 9);
      const float finest = x.scales[random() % uint64_t(x.shape.levels)];
      for (int64_t i = 0; i < 3 * x.shape.n; ++i)
        if (random() % 4 == 0) drawn(x.positions[i]) = (float(random() % uint64_t(finest)) + 0.5F) / finest;
    });

const Boundary<HashtableFwd> kHash("hash", {"hash"}, {}, kThreeSides,
                                   [](const Args& a, Sides& met) { met.compare(a.shape.hash, 1); });
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

}  // namespace
}  // namespace klab
