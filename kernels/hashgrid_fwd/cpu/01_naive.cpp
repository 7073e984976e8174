// hashgrid_fwd.cpu.01_naive: a point at a time, through all levels.
//
// CHANGE    the definition, as one would write it down: for every point, every level, every corner.
// EXPECT    bound by the latency of reads from the whole table, which no cache holds: a point's next read
//           is at an unrelated place of another level.
// NUMERICS  float; a product of hat functions a corner, corners summed in order.
#include <vector>

#include "harness/core/registrar.h"
#include "reference/hashgrid_fwd/hashgrid_fwd.h"

namespace klab {
namespace {

#include "kernels/common/hashgrid/01_serial_entry-inl.h"

void run(const HashgridFwd::Args<float>& x) {
  const HashgridShape& s = x.shape;
  const std::vector<HashgridLevel> levels = hashgrid_levels(s);
  for (int64_t i = 0; i < s.n; ++i)
    for (int64_t l = 0; l < s.levels; ++l) {
      const HashgridLevel& level = levels[size_t(l)];
      uint32_t cell[3] = {};
      float fraction[3] = {};
      for (int64_t d = 0; d < s.dim; ++d) {
        const float p = x.positions[d * s.n + i] * level.scale + 0.5F;
        cell[d] = uint32_t(p);
        fraction[d] = p - float(cell[d]);
      }
      float sum[8] = {};
      for (int64_t c = 0; c < int64_t(1) << s.dim; ++c) {
        uint32_t corner[3] = {};
        float weight = 1;
        for (int64_t d = 0; d < s.dim; ++d) {
          const bool upper = (c >> d & 1) != 0;
          corner[d] = cell[d] + (upper ? 1U : 0U);
          weight *= upper ? fraction[d] : 1 - fraction[d];
        }
        const float* entry = x.table + (level.offset + entry_of(level, s.dim, corner)) * s.features;
        for (int64_t f = 0; f < s.features; ++f) sum[f] += weight * entry[f];
      }
      for (int64_t f = 0; f < s.features; ++f) x.features[(l * s.features + f) * s.n + i] = sum[f];
    }
}

KLAB_VARIANT(HashgridFwd, {.run = run});

}  // namespace
}  // namespace klab
