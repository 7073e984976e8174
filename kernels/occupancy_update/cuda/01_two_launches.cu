// occupancy_update.cuda.01_two_launches: decay, then maximum.
//
// CHANGE   a launch for each of the two loops.
// EXPECT   the second one scatters, at ascending places: lanes of a warp share sectors if many cells were
//          chosen.
#include "harness/core/registrar.h"
#include "kernels/common/cuda.h"
#include "reference/occupancy_update/occupancy_update.h"

namespace klab {
namespace {

constexpr int kThreads = 256;

__global__ void __launch_bounds__(kThreads) let_decay(OccupancyUpdate::Args<float> x) {
  const int64_t c = int64_t(blockIdx.x) * kThreads + threadIdx.x;
  if (c < x.shape.cells && x.values[c] > 0) x.values[c] *= *x.decay;
}

__global__ void __launch_bounds__(kThreads) take_maximum(OccupancyUpdate::Args<float> x) {
  const int64_t i = int64_t(blockIdx.x) * kThreads + threadIdx.x;
  if (i >= x.shape.samples || x.chosen[i] < 0) return;
  float& value = x.values[x.chosen[i]];
  value = fmaxf(value, expf(x.raw[i]) * *x.step_size);
}

void run(const OccupancyUpdate::Args<float>& x) {
  const auto blocks = [](int64_t n) { return dim3(unsigned((n + kThreads - 1) / kThreads)); };
  if (x.shape.decays && x.shape.cells > 0)
    cuda::launch(let_decay, blocks(x.shape.cells), dim3(kThreads), 0, x);
  if (x.shape.samples > 0) cuda::launch(take_maximum, blocks(x.shape.samples), dim3(kThreads), 0, x);
}

KLAB_VARIANT(OccupancyUpdate, {.run = run, .tiles = {kThreads}});

}  // namespace
}  // namespace klab
