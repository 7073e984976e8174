// gs_antialias_fwd.cpu.01_naive: one Gaussian after the other.
//
// CHANGE    the naive loop: three numbers of the conic, a determinant, a root.
// EXPECT    a root for each Gaussian, and 20 bytes: from L2 the root binds, from memory the bytes.
#include <algorithm>
#include <cmath>

#include "harness/core/registrar.h"
#include "reference/gs_antialias_fwd/gs_antialias_fwd.h"

namespace klab {
namespace {

constexpr float kBlur = GsAntialiasFwd::blur, kLeast = GsAntialiasFwd::least;

void run(const GsAntialiasFwd::Args<float>& x) {
  const int64_t n = x.shape.n;
  for (int64_t i = 0; i < n; ++i) {
    const float along = 1 - kBlur * x.conic[i], across = 1 - kBlur * x.conic[2 * n + i];
    const float slant = kBlur * x.conic[n + i];
    x.shown[i] = x.opacity[i] * std::sqrt(std::max(along * across - slant * slant, kLeast));
  }
}

KLAB_VARIANT(GsAntialiasFwd, {.run = run});

}  // namespace
}  // namespace klab
