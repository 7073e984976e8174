// hashgrid_fwd.cpu.02_level_major: one level for all points, then the next.
//
// CHANGE    the loops over points and levels swapped.
// EXPECT    one level's part of the table at a time: 4 MB instead of 50, so the coarse levels come from L1
//           and L2 and the others from the last cache; positions are read once a level, in order, which
//           costs little. Results also leave in order. At least 1.3 times faster on tables larger than the
//           caches near the core.
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
  for (int64_t l = 0; l < s.levels; ++l) {
    const HashgridLevel& level = levels[size_t(l)];
    for (int64_t i = 0; i < s.n; ++i) {
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
}

KLAB_VARIANT(HashgridFwd, {.run = run,
                           .parent = "01_naive",
                           .expect = {.shape = {1 << 18, 3, 16, 2, 19, 16, 2048, 0}, .over_parent = 1.3}});

}  // namespace
}  // namespace klab
