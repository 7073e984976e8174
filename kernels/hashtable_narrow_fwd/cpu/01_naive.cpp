// hashtable_narrow_fwd.cpu.01_naive: a point at a time, through all levels.
//
// CHANGE    the definition: for every point, every level, every corner, a number becomes a float as it is read.
// EXPECT    the arithmetic of hashtable_fwd's first rung and a conversion for each number. Its reads are fewer lines, but
//           they are not what it waits for.
// NUMERICS  float; a product of weights a corner, corners summed in order, a level's factor behind the sum.
#include <vector>

#include "harness/core/registrar.h"
#include "reference/hashtable_narrow_fwd/hashtable_narrow_fwd.h"

namespace klab {
namespace {

#include "kernels/common/hashgrid/01_naive-inl.h"

void run(const HashtableNarrowFwd::Args<float>& x) {
  const HashtableNarrowFwd::Shape& s = x.shape;
  const HashtableShape table = s.table();
  const std::vector<TableLevel> levels = table_levels(s.levels, x.scales, x.sizes);
  const auto number = [&](int64_t k) { return narrow_number(s.format, x.halves, x.bytes, k); };
  for (int64_t i = 0; i < s.n; ++i)
    for (int64_t l = 0; l < s.levels; ++l) {
      float sum[8] = {};
      encode_point(table, levels[size_t(l)], x.positions, i, number, sum);
      for (int64_t f = 0; f < s.features; ++f) {
        const float factor = s.format == narrow_format::int8 ? x.factors[l * s.features + f] : 1;
        x.features[(l * s.features + f) * s.n + i] = sum[f] * factor;
      }
    }
}

KLAB_VARIANT(HashtableNarrowFwd, {.run = run});

}  // namespace
}  // namespace klab
