// hashtable_fwd.cpu.01_naive: a point at a time, through all levels.
//
// CHANGE    the definition, written directly: for every point, every level, every corner.
// EXPECT    bound by the latency of reads from the whole table, which no cache holds, and by the choice of
//           the hash function, repeated for every corner.
// NUMERICS  float; a product of weights a corner, corners summed in order.
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
  for (int64_t i = 0; i < s.n; ++i)
    for (int64_t l = 0; l < s.levels; ++l) {
      float sum[8] = {};
      encode_point(s, levels[size_t(l)], x.positions, i, number, sum);
      for (int64_t f = 0; f < s.features; ++f) x.features[(l * s.features + f) * s.n + i] = sum[f];
    }
}

KLAB_VARIANT(HashtableFwd, {.run = run});

}  // namespace
}  // namespace klab
