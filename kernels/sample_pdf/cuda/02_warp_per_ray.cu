// sample_pdf.cuda.02_warp_per_ray: a warp adds up the weights, and every lane finds its samples' bins.
//
// CHANGE    32 lanes read 32 neighboring weights, a scan by shuffles makes sums of them, and the distribution lies in shared memory.
//           A lane takes every 32nd sample and finds its bin by halving.
// EXPECT    a sector for eight numbers in place of one; six or seven halvings in place of a walk that lanes wait for.
// NUMERICS  float; sums as trees within each 32 bins.
// NEEDS     4 bytes of shared memory for each bin of a block's rays.
#include "harness/core/registrar.h"
#include "kernels/common/cuda.h"
#include "reference/sample_pdf/sample_pdf.h"

namespace klab {
namespace {

constexpr int kRays = 2, kThreads = 32 * kRays;
constexpr unsigned kWarp = ~0U;
constexpr float kFloor = float(SamplePdf::floor);

__global__ void __launch_bounds__(kThreads) each(SamplePdf::Args<float> x) {
  KLAB_DYNAMIC_SHARED(float, shared);
  const int lane = int(threadIdx.x % 32), bins = int(x.shape.bins), count = int(x.shape.count);
  const int64_t r = int64_t(blockIdx.x) * kRays + threadIdx.x / 32;
  if (r >= x.shape.rays) return;  // a whole warp
  float* below = shared + threadIdx.x / 32 * (bins + 1);
  const float *edges = x.edges + r * (bins + 1), *weights = x.weights + r * bins;
  float carried = 0;
  if (lane == 0) below[0] = 0;
  for (int first = 0; first < bins; first += 32) {
    const int b = first + lane;
    float sum = b < bins ? weights[b] + kFloor : 0.0F;
    for (int by = 1; by < 32; by *= 2) {
      const float left = __shfl_up_sync(kWarp, sum, unsigned(by));
      if (lane >= by) sum += left;
    }
    if (b < bins) below[b + 1] = carried + sum;
    carried += __shfl_sync(kWarp, sum, 31);
  }
  __syncwarp();
  const float scale = carried / float(count);
  for (int j = lane; j < count; j += 32) {
    const float u = (float(j) + x.jitter[r * count + j]) * scale;
    int b = 0, after = bins;  // the bin is in [b, after)
    while (after - b > 1) {
      const int middle = (b + after) / 2;
      if (below[middle] <= u)
        b = middle;
      else
        after = middle;
    }
    const float part = (u - below[b]) / (weights[b] + kFloor);
    x.t[r * count + j] = edges[b] + fminf(part, 1.0F) * (edges[b + 1] - edges[b]);
  }
}

void run(const SamplePdf::Args<float>& x) {
  if (x.shape.rays == 0) return;
  const size_t shared = size_t(kRays) * size_t(x.shape.bins + 1) * sizeof(float);
  cuda::launch(each, dim3(unsigned((x.shape.rays + kRays - 1) / kRays)), dim3(kThreads), shared, x);
}

KLAB_VARIANT(SamplePdf, {.run = run,
                         .parent = "01_thread_per_ray",
                         .numerics = {.growth = Growth::linear},
                         .tiles = {kRays, 32}});

}  // namespace
}  // namespace klab
