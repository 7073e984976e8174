// hashgrid_bwd.cpu.02_level_parallel: every level has one owner.
//
// CHANGE    the loops over points and levels swapped, and levels handed to threads as these become free,
//           finest first.
// EXPECT    levels share no entry, so nothing has to be atomic; one level's part of the table is used at a
//           time and stays in a cache. At least 2 times faster than serial on one thread, and twice that on
//           two.
// NUMERICS  as the parent: an entry's contributions are added in the order of the points, by one thread, so
//           the bits do not depend on the number of threads.
// NEEDS     no more threads than levels to use them all.
// TRIED     see NOTES.md, cpu.02_level_parallel
#include <vector>

#include "harness/core/registrar.h"
#include "reference/hashgrid_bwd/hashgrid_bwd.h"

namespace klab {
namespace {

#include "kernels/common/hashgrid/01_serial_entry-inl.h"

void scatter_level(const HashgridLevel& level, int64_t l, const HashgridBwd::Args<float>& x) {
  const HashgridShape& s = x.shape;
  for (int64_t i = 0; i < s.n; ++i) {
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

void run(const HashgridBwd::Args<float>& x) {
  const std::vector<HashgridLevel> levels = hashgrid_levels(x.shape);
#pragma omp parallel for schedule(dynamic, 1)
  for (int64_t k = 0; k < x.shape.levels; ++k) {
    const int64_t l = x.shape.levels - 1 - k;
    scatter_level(levels[size_t(l)], l, x);
  }
}

KLAB_VARIANT(HashgridBwd, {.run = run,
                           .parent = "01_serial",
                           .expect = {.shape = {1 << 18, 3, 16, 2, 19, 16, 2048, 0}, .over_parent = 2},
                           .was = {"03_sorted"}});

}  // namespace
}  // namespace klab
