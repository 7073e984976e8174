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

#include "kernels/common/hashgrid/01_naive-inl.h"

void run(const HashtableFwd::Args<float>& x) {
  const HashtableShape& s = x.shape;
  const std::vector<TableLevel> levels = table_levels(s.levels, x.scales, x.sizes);
  const auto number = [&](int64_t k) { return x.table[k]; };
#pragma omp parallel for schedule(dynamic, 1)
  for (int64_t k = 0; k < s.levels; ++k) {
    const int64_t l = s.levels - 1 - k;
    for (int64_t i = 0; i < s.n; ++i) {
      float sum[8] = {};
      encode_point(s, levels[size_t(l)], x.positions, i, number, sum);
      for (int64_t f = 0; f < s.features; ++f) x.features[(l * s.features + f) * s.n + i] = sum[f];
    }
  }
}

KLAB_VARIANT(HashtableFwd, {.run = run,
                            .parent = "01_naive",
                            .expect = {.shape = {1 << 18, 16, 2, 1 << 22, 0, 0, 1}, .over_parent = 1.5}});

}  // namespace
}  // namespace klab
