// hashtable_fwd.cpu.02_levels: one level for all points, levels shared out.
//
// CHANGE    the loops over points and levels swapped, and levels handed to threads as these become free, finest first.
// EXPECT    a level's part of the table at a time, which a cache holds; levels share no result. At least 1.5 times faster with
//           two threads.
// NUMERICS  as the parent: the same operations, so the same bits.
// NEEDS     no more threads than levels to use them all.
#include <vector>

#include "harness/core/registrar.h"
#include "reference/hashtable_fwd/hashtable_fwd.h"

namespace klab {
namespace {

float blended(int64_t blend, float f) {
  if (blend == table_blend::nearest) return 0;
  return blend == table_blend::linear ? f : f * f * (3 - 2 * f);
}

void encode_level(const TableLevel& level, int64_t l, const HashtableFwd::Args<float>& x) {
  const HashtableShape& s = x.shape;
  const int corners = s.blend == table_blend::nearest ? 1 : 8;
  for (int64_t i = 0; i < s.n; ++i) {
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
      for (int64_t f = 0; f < s.features; ++f) sum[f] += weight * x.table[index * s.features + f];
    }
    for (int64_t f = 0; f < s.features; ++f) x.features[(l * s.features + f) * s.n + i] = sum[f];
  }
}

void run(const HashtableFwd::Args<float>& x) {
  const std::vector<TableLevel> levels = table_levels(x.shape.levels, x.scales, x.sizes);
#pragma omp parallel for schedule(dynamic, 1)
  for (int64_t k = 0; k < x.shape.levels; ++k) {
    const int64_t l = x.shape.levels - 1 - k;
    encode_level(levels[size_t(l)], l, x);
  }
}

KLAB_VARIANT(HashtableFwd, {.run = run,
                            .parent = "01_naive",
                            .expect = {.shape = {1 << 18, 16, 2, 1 << 22, 0, 0, 1}, .over_parent = 1.5}});

}  // namespace
}  // namespace klab
