// Where hashgrid_fwd turns: borders of the cube and of cells, levels that are dense.
#include <algorithm>
#include <cmath>
#include <vector>

#include "reference/boundaries.h"
#include "reference/hashgrid_fwd/hashgrid_fwd.h"
#include "reference/hashgrid_fwd/layout.h"

namespace klab {
namespace {

using Args = HashgridFwd::Args<double>;
using Drawn = HashgridFwd::Args<float>;

const Boundary<HashgridFwd> kLower("position", {"positions"}, {}, kOn | kAbove,
                                   [](const Args& a, Sides& met) {
                                     for (int64_t i = 0; i < a.shape.n * a.shape.dim; ++i)
                                       met.compare(a.positions[i], 0);
                                   });
const Boundary<HashgridFwd> kUpper("position and the far border", {"positions"}, {}, kBelow | kOn,
                                   [](const Args& a, Sides& met) {
                                     for (int64_t i = 0; i < a.shape.n * a.shape.dim; ++i)
                                       met.compare(a.positions[i], 1);
                                   });

/// Calls visit(level) for each level of the table.
void each_level(const HashgridShape& s, auto&& visit) {
  for (const HashgridLevel& level : hashgrid_levels(s)) visit(level);
}

const Boundary<HashgridFwd> kLine(
    "position lies on a grid line", {"positions", "base", "finest"}, {}, kEither,
    [](const Args& a, Sides& met) {
      each_level(a.shape, [&](const HashgridLevel& level) {
        for (int64_t i = 0; i < std::min<int64_t>(a.shape.n * a.shape.dim, 4096); ++i) {
          const double p = a.positions[i] * double(level.scale) + 0.5;
          met.holds(p == std::floor(p));
        }
      });
    },
    [](const Drawn& x, Generator& random) {
      std::vector<float> scales;
      each_level(x.shape, [&](const HashgridLevel& level) {
        if (level.scale >= 1 && level.scale == std::floor(level.scale)) scales.push_back(level.scale);
      });
      for (int64_t i = 0; i < x.shape.n * x.shape.dim && !scales.empty(); ++i) {
        const float scale = scales[random() % scales.size()], line = float(random() % uint64_t(scale)) + 0.5F;
        if (const float at = line / scale; random() % 4 == 0 && double(at) * double(scale) == double(line))
          drawn(x.positions[i]) = at;
      }
    });
const Boundary<HashgridFwd> kDense("grid points of a level and table", {"log2_table", "base", "finest"},
                                   {"points <= limit", "std::min((points + 7)"}, kEither,
                                   [](const Args& a, Sides& met) {
                                     each_level(a.shape,
                                                [&](const HashgridLevel& level) { met.holds(level.dense); });
                                   });
const Boundary<HashgridFwd> kFlat("two dimensions", {"dim"}, {"s.dim == 3 ?"}, kEither,
                                  [](const Args& a, Sides& met) { met.holds(a.shape.dim == 2); });

const Boundary<HashgridFwd> kOne("levels", {"levels"}, {"levels < 2"}, kOn | kAbove,
                                 [](const Args& a, Sides& met) { met.compare(a.shape.levels, 1); });
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

}  // namespace
}  // namespace klab
