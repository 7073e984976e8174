// How a batch uses each level of the hash table: touched entries, points that share one, length of the
// gradient.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "reference/hashtable_fwd/table_layout.h"

namespace klab {

struct LevelUse {
  int64_t points_per_axis = 0;
  int64_t entries = 0;  // of the level
  int64_t points = 0;   // different grid points that the samples touch
  int64_t touched = 0;  // different entries of these
  double alone = 1;     // share of those points that have an entry to themselves
  double moved = 0;     // share of the entries that ever received a gradient
  double gradient = 0;  // length of the batch's gradient of the level
};

/// Counts the use of one level by the first `n` of positions [3, stride] in [0, 1], in memory proportional to n. `hash` and `blend`
/// as the op has them. Leaves moved and gradient at 0.
LevelUse level_use(const TableLevel& level, int64_t hash, int64_t blend, const float* positions,
                   int64_t stride, int64_t n);

}  // namespace klab
