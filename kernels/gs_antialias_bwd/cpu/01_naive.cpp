// gs_antialias_bwd.cpu.01_naive: one Gaussian after the other.
//
// CHANGE    the naive loop: the forward's determinant and root again, then what each number of the conic does to them.
// EXPECT    a root and a division for each Gaussian, and 48 bytes.
#include <algorithm>
#include <cmath>

#include "harness/core/registrar.h"
#include "reference/gs_antialias_bwd/gs_antialias_bwd.h"

namespace klab {
namespace {

constexpr float kBlur = GsAntialiasFwd::blur, kLeast = GsAntialiasFwd::least;

void run(const GsAntialiasBwd::Args<float>& x) {
  const int64_t n = x.shape.n;
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

KLAB_VARIANT(GsAntialiasBwd, {.run = run, .forward = "01_naive"});

}  // namespace
}  // namespace klab
