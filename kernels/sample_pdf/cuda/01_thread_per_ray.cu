// sample_pdf.cuda.01_thread_per_ray: one thread per ray.
//
// CHANGE    the walk through bins and samples, a ray in a thread.
// EXPECT    lanes read rows that lie a ray's length apart: a sector for each lane and number. Few rays are few threads.
// NUMERICS  float; the distribution is left as sums of weights.
#include "harness/core/registrar.h"
#include "kernels/common/cuda.h"
#include "reference/sample_pdf/sample_pdf.h"

namespace klab {
namespace {

constexpr int kThreads = 128;
constexpr float kFloor = float(SamplePdf::floor);

__global__ void __launch_bounds__(kThreads) each(SamplePdf::Args<float> x) {
  const int64_t r = int64_t(blockIdx.x) * kThreads + threadIdx.x, bins = x.shape.bins, count = x.shape.count;
  if (r >= x.shape.rays) return;
  const float *edges = x.edges + r * (bins + 1), *weights = x.weights + r * bins;
  float total = 0;
  for (int64_t b = 0; b < bins; ++b) total += weights[b] + kFloor;
  const float scale = total / float(count);
  int64_t b = 0;
  float below = 0, own = weights[0] + kFloor;
  for (int64_t j = 0; j < count; ++j) {
    const float u = (float(j) + x.jitter[r * count + j]) * scale;
    while (b + 1 < bins && below + own <= u) {
      below += own;
      own = weights[++b] + kFloor;
    }
    x.t[r * count + j] = edges[b] + fminf((u - below) / own, 1.0F) * (edges[b + 1] - edges[b]);
  }
}

void run(const SamplePdf::Args<float>& x) {
  if (x.shape.rays == 0) return;
  cuda::launch(each, dim3(unsigned((x.shape.rays + kThreads - 1) / kThreads)), dim3(kThreads), 0, x);
}

KLAB_VARIANT(SamplePdf, {.run = run, .numerics = {.growth = Growth::linear}, .tiles = {kThreads}});

}  // namespace
}  // namespace klab
