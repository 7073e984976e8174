// gs_antialias_fwd.cpu.02_threads: Gaussians shared out among the cores, and to lanes.
//
// CHANGE    each thread has a contiguous part, which the compiler may take in vectors.
// EXPECT    near the number of cores where there are enough Gaussians; waking a thread takes longer than a thousand of them.
// NUMERICS  as the parent.
#include <algorithm>
#include <cmath>

#include "harness/core/registrar.h"
#include "reference/gs_antialias_fwd/gs_antialias_fwd.h"

namespace klab {
namespace {

constexpr int64_t kFew = 16384;  // Gaussians for which threads are worth waking
constexpr float kBlur = GsAntialiasFwd::blur, kLeast = GsAntialiasFwd::least;

void run(const GsAntialiasFwd::Args<float>& x) {
  const int64_t n = x.shape.n;
#pragma omp parallel for simd schedule(static) if (n > kFew)
  for (int64_t i = 0; i < n; ++i) {
    const float along = 1 - kBlur * x.conic[i], across = 1 - kBlur * x.conic[2 * n + i];
    const float slant = kBlur * x.conic[n + i];
    x.shown[i] = x.opacity[i] * std::sqrt(std::max(along * across - slant * slant, kLeast));
  }
}

KLAB_VARIANT(GsAntialiasFwd, {.run = run,
                              .parent = "01_naive",
                              .tiles = {kFew},
                              .expect = {.shape = {50000}, .over_parent = 1.4}});

}  // namespace
}  // namespace klab
