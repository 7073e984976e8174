// hashgrid_bwd.cpu.01_serial: a point at a time, through all levels, added where it belongs.
//
// CHANGE    the definition: for every point, every level, every corner, add weight times gradient to the
//           entry.
// EXPECT    bound by reads and writes all over a table that no cache holds.
// NUMERICS  float; an entry's contributions are added one by one, in the order of the points.
#include <vector>

#include "harness/core/registrar.h"
#include "reference/hashgrid_bwd/hashgrid_bwd.h"

namespace klab {
namespace {

#include "kernels/common/hashgrid/01_serial_entry-inl.h"

void run(const HashgridBwd::Args<float>& x) {
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
      float g[8] = {};
      for (int64_t f = 0; f < s.features; ++f) g[f] = x.d_features[(l * s.features + f) * s.n + i];
      for (int64_t c = 0; c < int64_t(1) << s.dim; ++c) {
        uint32_t corner[3] = {};
        float weight = 1;
        for (int64_t d = 0; d < s.dim; ++d) {
          const bool upper = (c >> d & 1) != 0;
          corner[d] = cell[d] + (upper ? 1U : 0U);
          weight *= upper ? fraction[d] : 1 - fraction[d];
        }
        float* entry = x.d_table + (level.offset + entry_of(level, s.dim, corner)) * s.features;
        for (int64_t f = 0; f < s.features; ++f) entry[f] += weight * g[f];
      }
    }
}

KLAB_VARIANT(HashgridBwd, {.run = run});

}  // namespace
}  // namespace klab
