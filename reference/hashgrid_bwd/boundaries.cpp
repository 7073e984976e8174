// Where hashgrid_bwd turns: borders of the cube and of cells, levels that are dense.
#include <algorithm>
#include <cmath>
#include <vector>

#include "reference/boundaries.h"
#include "reference/hashgrid_bwd/hashgrid_bwd.h"
#include "reference/hashgrid_fwd/layout.h"

namespace klab {
namespace {

using Args = HashgridBwd::Args<double>;
using Drawn = HashgridBwd::Args<float>;

const Boundary<HashgridBwd> kLower("position", {"positions"}, {}, kOn | kAbove,
                                   [](const Args& a, Sides& met) {
                                     for (int64_t i = 0; i < a.shape.n * a.shape.dim; ++i)
                                       met.compare(a.positions[i], 0);
                                   });
const Boundary<HashgridBwd> kUpper("position and the far border", {"positions"}, {}, kBelow | kOn,
                                   [](const Args& a, Sides& met) {
                                     for (int64_t i = 0; i < a.shape.n * a.shape.dim; ++i)
                                       met.compare(a.positions[i], 1);
                                   });

/// Calls visit(level) for each level of the table.
void each_level(const HashgridShape& s, auto&& visit) {
  for (const HashgridLevel& level : hashgrid_levels(s)) visit(level);
}

const Boundary<HashgridBwd> kLine(
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
const Boundary<HashgridBwd> kDense("grid points of a level and table", {"log2_table", "base", "finest"}, {},
                                   kEither, [](const Args& a, Sides& met) {
                                     each_level(a.shape,
                                                [&](const HashgridLevel& level) { met.holds(level.dense); });
                                   });
const Boundary<HashgridBwd> kFlat("two dimensions", {"dim"}, {"s.dim == 3 ?"}, kEither,
                                  [](const Args& a, Sides& met) { met.holds(a.shape.dim == 2); });
const NoBoundary<HashgridBwd> kRest(
    {{"std::max(0.0, 1 - std::abs(p", "weights of corners that a kernel does not read are 0"},
     {"std::min(1.0, a.weight[k]", "a bound of rounding errors, which no kernel computes"},
     {"e != d)", "a bound of rounding errors, which no kernel computes"},
     {"k > 0 ?", "a bound of rounding errors, which no kernel computes"}});

}  // namespace
}  // namespace klab
