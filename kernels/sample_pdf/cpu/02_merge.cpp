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

#include "kernels/sample_pdf/cpu/02_merge-inl.h"

void run(const SamplePdf::Args<float>& x) {
  for (int64_t r = 0; r < x.shape.rays; ++r) ray(x, r);
}

KLAB_VARIANT(SamplePdf, {.run = run,
                         .parent = "01_naive",
                         .numerics = {.growth = Growth::linear},
                         .expect = {.shape = {4096, 64, 128}, .over_parent = 3}});

}  // namespace
}  // namespace klab
