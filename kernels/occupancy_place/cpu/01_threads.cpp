// occupancy_place.cpu.01_threads: cell after cell.
//
// CHANGE   the naive loop, cells shared out among the cores.
// EXPECT   the generator: ten rounds a cell.
#include "harness/core/registrar.h"
#include "kernels/common/philox.h"
#include "reference/occupancy_place/occupancy_place.h"

namespace klab {
namespace {

void run(const OccupancyPlace::Args<float>& x) {
  const OccupancyPlace::Shape& s = x.shape;
  const int64_t cube = s.grid * s.grid * s.grid;
  const float side = float(1 << (s.cascades - 1));
#pragma omp parallel for schedule(static) if (s.samples > 2048)
  for (int64_t i = 0; i < s.samples; ++i) {
    const int64_t cell = s.first + x.chosen[i];
    const PhiloxWords words = philox(uint64_t(cell) + (uint64_t{4} << 32), x.seed, x.step);
    for (int axis = 0; axis < 3; ++axis) {
      const float size = float(1 << (cell / cube)) / side, unit = float(words.w[axis] >> 8) * 0x1p-24F;
      const float inside =
          (float(OccupancyPlace::coordinate(uint32_t(cell % cube), axis)) + unit) / float(s.grid);
      x.positions[axis * s.samples + i] = x.chosen[i] < 0 ? 0.5F : 0.5F + size * (inside - 0.5F);
    }
  }
}

KLAB_VARIANT(OccupancyPlace, {.run = run, .tiles = {2048}});

}  // namespace
}  // namespace klab
