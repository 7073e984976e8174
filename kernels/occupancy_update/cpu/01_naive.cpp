// occupancy_update.cpu.01_naive: decay, then maximum.
//
// CHANGE   the naive loops.
// EXPECT   a pass over the values, then exponentials one after the other at ascending places.
#include <algorithm>
#include <cmath>

#include "harness/core/registrar.h"
#include "reference/occupancy_update/occupancy_update.h"

namespace klab {
namespace {

void run(const OccupancyUpdate::Args<float>& x) {
  for (int64_t c = 0; x.shape.decays && c < x.shape.cells; ++c)
    if (x.values[c] > 0) x.values[c] *= *x.decay;
  for (int64_t i = 0; i < x.shape.samples; ++i) {
    if (x.chosen[i] < 0) continue;
    float& value = x.values[x.chosen[i]];
    value = std::max(value, std::exp(x.raw[i]) * *x.step_size);
  }
}

KLAB_VARIANT(OccupancyUpdate, {.run = run});

}  // namespace
}  // namespace klab
