// hashtable_fwd.cpu.70_modulo: a word's entry is the remainder of its division by the size, as if any size could be had that way.
// Must be caught as Fault::wrong_value: levels whose size is no power of two.
#include <vector>

#include "reference/hashtable_fwd/hashtable_fwd.h"
#include "tests/mutants/mutant.h"

namespace klab {
namespace {

float blended(int64_t blend, float f) {
  if (blend == table_blend::nearest) return 0;
  return blend == table_blend::linear ? f : f * f * (3 - 2 * f);
}

// Right where the size is a power of two, or the level dense.
uint32_t entry_of(const TableLevel& level, int64_t hash, const uint32_t* c) {
  if (level.dense) return table_index(level, hash, c[0], c[1], c[2]);
  return table_word(hash, level.bits, c[0], c[1], c[2]) % level.entries;
}

void run(const HashtableFwd::Args<float>& x) {
  const HashtableShape& s = x.shape;
  const std::vector<TableLevel> levels = table_levels(s.levels, x.scales, x.sizes);
  for (int64_t i = 0; i < s.n; ++i)
    for (int64_t l = 0; l < s.levels; ++l) {
      const TableLevel& level = levels[size_t(l)];
      float sum[8] = {};
      for (int c = 0; c < 8; ++c) {
        uint32_t corner[3] = {};
        float weight = 1;
        for (int d = 0; d < 3; ++d) {
          const float p = x.positions[d * s.n + i] * level.scale + 0.5F;
          const float f = blended(s.blend, p - float(uint32_t(p)));
          const bool upper = (c >> d & 1) != 0;
          corner[d] = uint32_t(p) + (upper ? 1U : 0U);
          weight *= upper ? f : 1 - f;
        }
        const int64_t index = level.offset + entry_of(level, s.hash, corner);
        for (int64_t f = 0; f < s.features; ++f) sum[f] += weight * x.table[index * s.features + f];
      }
      for (int64_t f = 0; f < s.features; ++f) x.features[(l * s.features + f) * s.n + i] = sum[f];
    }
}

KLAB_MUTANT(HashtableFwd, Fault::wrong_value, {.run = run});

}  // namespace
}  // namespace klab
