// occupancy_update.cpu.02_threads: values and samples shared out among the cores.
//
// CHANGE   threads take runs; no cell occurs twice, so nothing is shared.
// EXPECT   near the number of cores.
#include <algorithm>
#include <cmath>

#include "harness/core/registrar.h"
#include "reference/occupancy_update/occupancy_update.h"

namespace klab {
namespace {

void run(const OccupancyUpdate::Args<float>& x) {
  const float decay = *x.decay, step_size = *x.step_size;
  const int64_t decaying = x.shape.decays ? x.shape.cells : 0;
#pragma omp parallel for simd schedule(static) if (decaying > 4096)
  for (int64_t c = 0; c < decaying; ++c) x.values[c] *= x.values[c] > 0 ? decay : 1.0F;
#pragma omp parallel for schedule(static) if (x.shape.samples > 2048)
  for (int64_t i = 0; i < x.shape.samples; ++i) {
    if (x.chosen[i] < 0) continue;
    float& value = x.values[x.chosen[i]];
    value = std::max(value, std::exp(x.raw[i]) * step_size);
  }
}

KLAB_VARIANT(OccupancyUpdate, {.run = run, .parent = "01_naive", .tiles = {2048, 4096}});

}  // namespace
}  // namespace klab
