// occupancy_update.cuda.02_by_samples: chosen cells decay in the thread that updates them.
//
// CHANGE   one launch: a thread takes a sample, and with it the cells from this one to before the next
//          sample's, which were not chosen.
// EXPECT   every value is read and written once: 8 bytes a cell instead of up to 16. If few were chosen,
//          threads walk over gaps.
#include "harness/core/registrar.h"
#include "kernels/common/cuda.h"
#include "reference/occupancy_update/occupancy_update.h"

namespace klab {
namespace {

constexpr int kThreads = 256;

/// The cell at which a sample's run ends: where the next begins, or all end.
__device__ __forceinline__ int64_t end_of(const OccupancyUpdate::Args<float>& x, int64_t i) {
  if (!x.shape.decays) return x.chosen[i] + 1;
  const int next = i + 1 < x.shape.samples ? x.chosen[i + 1] : -1;
  return next < 0 ? x.shape.cells : next;
}

__global__ void __launch_bounds__(kThreads) update(OccupancyUpdate::Args<float> x) {
  const int64_t i = int64_t(blockIdx.x) * kThreads + threadIdx.x;
  const float decay = *x.decay;
  const bool first = i == 0 && x.shape.decays;
  const bool mine = i < x.shape.samples && x.chosen[i] >= 0;
  if (!mine && !first) return;
  const int64_t begin = mine ? x.chosen[i] : 0, end = mine ? end_of(x, i) : x.shape.cells;
  for (int64_t c = first ? 0 : begin; c < end; ++c) {
    float value = x.values[c];
    if (x.shape.decays && value > 0) value *= decay;
    if (mine && c == begin) value = fmaxf(value, expf(x.raw[i]) * *x.step_size);
    x.values[c] = value;
  }
}

void run(const OccupancyUpdate::Args<float>& x) {
  if (x.shape.cells == 0 || (!x.shape.decays && x.shape.samples == 0)) return;
  const int64_t threads = x.shape.samples > 0 ? x.shape.samples : 1;
  cuda::launch(update, dim3(unsigned((threads + kThreads - 1) / kThreads)), dim3(kThreads), 0, x);
}

KLAB_VARIANT(OccupancyUpdate, {.run = run, .parent = "01_two_launches", .tiles = {kThreads}});

}  // namespace
}  // namespace klab
