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

#include "kernels/sample_pdf/cpu/02_merge-inl.h"

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
