// sample_pdf.cpu.03_threads: rays shared out.
//
// CHANGE    threads take contiguous parts of the rays.
// EXPECT    near the number of cores: rays do not depend on each other.
// NUMERICS  as the parent.
#include <algorithm>

#include "harness/core/registrar.h"
#include "reference/sample_pdf/sample_pdf.h"

namespace klab {
namespace {

constexpr float kFloor = float(SamplePdf::floor);

void ray(const SamplePdf::Args<float>& x, int64_t r) {
  const int64_t bins = x.shape.bins, count = x.shape.count;
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
    x.t[r * count + j] = edges[b] + std::min((u - below) / own, 1.0F) * (edges[b + 1] - edges[b]);
  }
}

constexpr int64_t kLeast = 64;  // rays for which threads are worth waking

void run(const SamplePdf::Args<float>& x) {
#pragma omp parallel for schedule(static) if (x.shape.rays > kLeast)
  for (int64_t r = 0; r < x.shape.rays; ++r) ray(x, r);
}

KLAB_VARIANT(SamplePdf, {.run = run,
                         .parent = "02_merge",
                         .numerics = {.growth = Growth::linear},
                         .tiles = {kLeast},
                         .expect = {.shape = {4096, 64, 128}, .over_parent = 1.5}});

}  // namespace
}  // namespace klab
