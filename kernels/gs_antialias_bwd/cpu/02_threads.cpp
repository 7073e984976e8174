// gs_antialias_bwd.cpu.02_threads: Gaussians shared out among the cores, and to lanes.
//
// CHANGE    each thread has a contiguous part, which the compiler may take in vectors.
// EXPECT    near the number of cores where there are enough Gaussians, until memory is busy.
// NUMERICS  as the parent.
#include <algorithm>
#include <cmath>

#include "harness/core/registrar.h"
#include "reference/gs_antialias_bwd/gs_antialias_bwd.h"

namespace klab {
namespace {

constexpr int64_t kFew = 16384;  // Gaussians for which threads are worth waking
constexpr float kBlur = GsAntialiasFwd::blur, kLeast = GsAntialiasFwd::least;

void run(const GsAntialiasBwd::Args<float>& x) {
  const int64_t n = x.shape.n;
#pragma omp parallel for simd schedule(static) if (n > kFew)
  for (int64_t i = 0; i < n; ++i) {
    const float along = 1 - kBlur * x.conic[i], across = 1 - kBlur * x.conic[2 * n + i];
    const float slant = kBlur * x.conic[n + i], q = along * across - slant * slant;
    const float factor = std::sqrt(std::max(q, kLeast));
    x.d_opacity[i] = x.d_shown[i] * factor;
    const float g = q > kLeast ? x.d_shown[i] * x.opacity[i] / (2 * factor) : 0;
    x.d_conic[i] -= kBlur * across * g;
    x.d_conic[n + i] -= 2 * kBlur * slant * g;
    x.d_conic[2 * n + i] -= kBlur * along * g;
  }
}

KLAB_VARIANT(GsAntialiasBwd, {.run = run,
                              .parent = "01_naive",
                              .forward = "02_threads",
                              .tiles = {kFew},
                              .expect = {.shape = {50000}, .over_parent = 1.4}});

}  // namespace
}  // namespace klab
