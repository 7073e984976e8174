// hashtable_bwd.cpu.01_serial: a point at a time adds to all levels.
//
// CHANGE    the definition: the gradient of the features, times a corner's weight, is added to the corner's entry.
// EXPECT    every addition reads and writes a line of a table that no cache holds.
// NUMERICS  float; an entry's contributions in the order of the points.
#include <vector>

#include "harness/core/registrar.h"
#include "reference/hashtable_bwd/hashtable_bwd.h"

namespace klab {
namespace {

float blended(int64_t blend, float f) {
  if (blend == table_blend::nearest) return 0;
  return blend == table_blend::linear ? f : f * f * (3 - 2 * f);
}

void run(const HashtableBwd::Args<float>& x) {
  const HashtableShape& s = x.shape;
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
          x.d_table[index * s.features + f] += weight * x.d_features[(l * s.features + f) * s.n + i];
      }
    }
}

KLAB_VARIANT(HashtableBwd, {.run = run});

}  // namespace
}  // namespace klab
