// occupancy_bits.cpu.01_naive: one pass for the mean, one for the bits.
//
// CHANGE   the naive loops.
// EXPECT   4 bytes a cell, twice: the mean must be known first.
#include "harness/core/registrar.h"
#include "reference/occupancy_bits/occupancy_bits.h"

namespace klab {
namespace {

#include "kernels/occupancy_bits/cpu/01_naive-inl.h"

void run(const OccupancyBits::Args<float>& x) {
  const float scale = OccupancyBits::scale_of(x.shape.cells);
  const Seen seen = sum_of(x.values, scale, 0, x.shape.cells);
  const float limit = OccupancyBits::limit_of(*x.threshold, seen.sum, seen.cells, scale);
  *x.occupied = int32_t(set_bits(x, limit, 0, x.shape.cells / 8));
}

KLAB_VARIANT(OccupancyBits, {.run = run});

}  // namespace
}  // namespace klab
