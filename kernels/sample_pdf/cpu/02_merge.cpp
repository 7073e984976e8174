// sample_pdf.cpu.02_merge: two ascending lists, one walk.
//
// CHANGE    u ascends, so a sample's bin is that of the sample before it or a later one: the walk continues
//           where it stopped.
// EXPECT    bins plus samples steps in place of bins times samples. Many times as fast at 64 and 128.
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

void run(const SamplePdf::Args<float>& x) {
  for (int64_t r = 0; r < x.shape.rays; ++r) ray(x, r);
}

KLAB_VARIANT(SamplePdf, {.run = run,
                         .parent = "01_naive",
                         .numerics = {.growth = Growth::linear},
                         .expect = {.shape = {4096, 64, 128}, .over_parent = 3}});

}  // namespace
}  // namespace klab
