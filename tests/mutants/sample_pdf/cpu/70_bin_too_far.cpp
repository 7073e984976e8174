// sample_pdf.cpu.70_bin_too_far: a sample goes to the bin behind its own, at that bin's begin.
// Must be caught as Fault::wrong_value: samples of a surface lie just behind it.
#include <algorithm>

#include "reference/sample_pdf/sample_pdf.h"
#include "tests/mutants/mutant.h"

namespace klab {
namespace {

void run(const SamplePdf::Args<float>& x) {
  const int64_t bins = x.shape.bins, count = x.shape.count;
  for (int64_t r = 0; r < x.shape.rays; ++r) {
    float total = 0;
    for (int64_t b = 0; b < bins; ++b) total += x.weights[r * bins + b] + float(SamplePdf::floor);
    int64_t b = 0;
    float below = 0;
    for (int64_t j = 0; j < count; ++j) {
      const float u = (float(j) + x.jitter[r * count + j]) / float(count) * total;
      while (b + 1 < bins && below + x.weights[r * bins + b] + float(SamplePdf::floor) <= u)
        below += x.weights[r * bins + b++] + float(SamplePdf::floor);
      x.t[r * count + j] = x.edges[r * (bins + 1) + b + 1];
    }
  }
}

KLAB_MUTANT(SamplePdf, Fault::wrong_value, {.run = run, .numerics = {.growth = Growth::linear}});

}  // namespace
}  // namespace klab
