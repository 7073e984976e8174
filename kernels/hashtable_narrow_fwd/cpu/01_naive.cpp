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

float blended(int64_t blend, float f) {
  if (blend == table_blend::nearest) return 0;
  return blend == table_blend::linear ? f : f * f * (3 - 2 * f);
}

void run(const HashtableNarrowFwd::Args<float>& x) {
  const HashtableNarrowFwd::Shape& s = x.shape;
  const std::vector<TableLevel> levels = table_levels(s.levels, x.scales, x.sizes);
  const int corners = s.blend == table_blend::nearest ? 1 : 8;
  for (int64_t i = 0; i < s.n; ++i)
    for (int64_t l = 0; l < s.levels; ++l) {
      const TableLevel& level = levels[size_t(l)];
      uint32_t cell[3] = {};
      float fraction[3] = {};
      for (int d = 0; d < 3; ++d) {
        const float p = x.positions[d * s.n + i] * level.scale + 0.5F;
        cell[d] = uint32_t(p);
        fraction[d] = blended(s.blend, p - float(cell[d]));
      }
      float sum[8] = {};
      for (int c = 0; c < corners; ++c) {
        uint32_t corner[3] = {};
        float weight = 1;
        for (int d = 0; d < 3; ++d) {
          const bool upper = (c >> d & 1) != 0;
          corner[d] = cell[d] + (upper ? 1U : 0U);
          weight *= upper ? fraction[d] : 1 - fraction[d];
        }
        const int64_t index = level.offset + table_index(level, s.hash, corner[0], corner[1], corner[2]);
        for (int64_t f = 0; f < s.features; ++f)
          sum[f] += weight * narrow_number(s.format, x.halves, x.bytes, index * s.features + f);
      }
      for (int64_t f = 0; f < s.features; ++f) {
        const float factor = s.format == narrow_format::int8 ? x.factors[l * s.features + f] : 1;
        x.features[(l * s.features + f) * s.n + i] = sum[f] * factor;
      }
    }
}

KLAB_VARIANT(HashtableNarrowFwd, {.run = run});

}  // namespace
}  // namespace klab
