// opacity_entropy_fwd.cpu.01_naive: one logarithm per ray.
//
// CHANGE    the naive loop.
// EXPECT    bound by the logarithm; there are only as many as rays.
// NUMERICS  float.
#include <cmath>

#include "harness/core/registrar.h"
#include "reference/opacity_entropy_fwd/opacity_entropy_fwd.h"

namespace klab {
namespace {

void run(const OpacityEntropyFwd::Args<float>& x) {
  for (int64_t r = 0; r < x.shape.rays; ++r) {
    const float o = x.opacity[r] + float(OpacityEntropyFwd::floor);
    x.loss[r] = -o * std::log(o);
  }
}

KLAB_VARIANT(OpacityEntropyFwd, {.run = run});

}  // namespace
}  // namespace klab
