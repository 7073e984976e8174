// occupancy_place.cuda.01_cell_per_thread: one thread per cell.
//
// CHANGE   the loop over cells spread over threads.
// EXPECT   coalesced; the integer arithmetic of the generator binds.
#include "harness/core/registrar.h"
#include "kernels/common/cuda.h"
#include "kernels/common/philox.h"
#include "reference/occupancy_place/occupancy_place.h"

namespace klab {
namespace {

constexpr int kThreads = 256;

__device__ __forceinline__ uint32_t coordinate(uint32_t morton, int axis) {
  uint32_t v = morton >> axis & 0x09249249U;
  v = (v | v >> 2) & 0x030C30C3U;
  v = (v | v >> 4) & 0x0300F00FU;
  v = (v | v >> 8) & 0x030000FFU;
  return (v | v >> 16) & 0x3FFU;
}

__global__ void __launch_bounds__(kThreads) place(OccupancyPlace::Args<float> x) {
  const OccupancyPlace::Shape& s = x.shape;
  const int64_t i = int64_t(blockIdx.x) * kThreads + threadIdx.x;
  if (i >= s.samples) return;
  const int64_t cube = s.grid * s.grid * s.grid, chosen = x.chosen[i], cell = s.first + chosen;
  const PhiloxWords words = philox(uint64_t(cell) + (uint64_t{4} << 32), x.seed, x.step);
  const float size = chosen < 0 ? 0 : float(1 << (cell / cube)) / float(1 << (s.cascades - 1));
  for (int axis = 0; axis < 3; ++axis) {
    const float unit = float(words.w[axis] >> 8) * 0x1p-24F;
    const float inside = (float(coordinate(uint32_t(cell % cube), axis)) + unit) / float(s.grid);
    x.positions[axis * s.samples + i] = 0.5F + size * (inside - 0.5F);
  }
}

void run(const OccupancyPlace::Args<float>& x) {
  if (x.shape.samples == 0) return;
  cuda::launch(place, dim3(unsigned((x.shape.samples + kThreads - 1) / kThreads)), dim3(kThreads), 0, x);
}

KLAB_VARIANT(OccupancyPlace, {.run = run, .tiles = {kThreads}});

}  // namespace
}  // namespace klab
