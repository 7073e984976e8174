// variation_points.cuda.01_naive: one thread per point.
//
// CHANGE   the loop over points spread over threads.
// EXPECT   coalesced; the launch takes longer than the kernel.
#include "harness/core/registrar.h"
#include "kernels/common/cuda.h"
#include "kernels/common/philox.h"
#include "reference/variation_points/variation_points.h"

namespace klab {
namespace {

constexpr int kThreads = 256;

__global__ void __launch_bounds__(kThreads) draw(VariationPoints::Args<float> x) {
  const int64_t p = int64_t(blockIdx.x) * kThreads + threadIdx.x, n = x.shape.points;
  if (p >= n) return;
  const PhiloxWords words = philox(uint64_t(p) + (uint64_t{2} << 32), x.seed, x.step);
  for (int64_t axis = 0; axis < 3; ++axis)
    for (int64_t moved = 0; moved < 4; ++moved)
      x.positions[(axis * 4 + moved) * n + p] =
          (1 - *x.h) * (float(words.w[axis] >> 8) * 0x1p-24F) + (moved == axis + 1 ? *x.h : 0.0F);
}

void run(const VariationPoints::Args<float>& x) {
  if (x.shape.points == 0) return;
  cuda::launch(draw, dim3(unsigned((x.shape.points + kThreads - 1) / kThreads)), dim3(kThreads), 0, x);
}

KLAB_VARIANT(VariationPoints, {.run = run, .tiles = {kThreads}});

}  // namespace
}  // namespace klab
