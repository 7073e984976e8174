// sample_pdf.cpu.01_naive: every sample searches its bin from the first one on.
//
// CHANGE    the naive loop: add up the weights, then for each sample walk to the bin that has it.
// EXPECT    bins times samples comparisons for each ray, all except the last of them wasted.
// NUMERICS  float; the distribution stays unnormalized, as sums of weights, and u is multiplied by their
//           total.
#include <vector>

#include "harness/core/registrar.h"
#include "reference/sample_pdf/sample_pdf.h"

namespace klab {
namespace {

constexpr float kFloor = float(SamplePdf::floor);

void run(const SamplePdf::Args<float>& x) {
  const int64_t bins = x.shape.bins, count = x.shape.count;
  std::vector<float> below(size_t(bins) + 1);
  for (int64_t r = 0; r < x.shape.rays; ++r) {
    const float *edges = x.edges + r * (bins + 1), *weights = x.weights + r * bins;
    for (int64_t b = 0; b < bins; ++b) below[size_t(b) + 1] = below[size_t(b)] + (weights[b] + kFloor);
    const float total = below[size_t(bins)];
    for (int64_t j = 0; j < count; ++j) {
      const float u = (float(j) + x.jitter[r * count + j]) / float(count) * total;
      int64_t b = 0;
      while (b + 1 < bins && below[size_t(b) + 1] <= u) ++b;
      const float part = (u - below[size_t(b)]) / (weights[b] + kFloor);
      x.t[r * count + j] = edges[b] + std::min(part, 1.0F) * (edges[b + 1] - edges[b]);
    }
  }
}

KLAB_VARIANT(SamplePdf, {.run = run, .numerics = {.growth = Growth::linear}});

}  // namespace
}  // namespace klab
