// occupancy_choose.cpu.01_naive: cell after cell.
//
// CHANGE   the naive loop; the generator once for four cells.
// EXPECT   ten rounds of the generator, some 60 instructions, for four cells; the branch that a random number
//          decides.
#include <algorithm>

#include "harness/core/registrar.h"
#include "kernels/common/philox.h"
#include "reference/occupancy_choose/occupancy_choose.h"

namespace klab {
namespace {

#include "kernels/occupancy_choose/cpu/01_naive-inl.h"

void run(const OccupancyChoose::Args<float>& x) {
  const int64_t n = choose(x, 0, x.shape.cells, x.chosen);
  *x.count = int32_t(n);
  std::fill(x.chosen + n, x.chosen + x.shape.cells, -1);
}

KLAB_VARIANT(OccupancyChoose, {.run = run});

}  // namespace
}  // namespace klab
