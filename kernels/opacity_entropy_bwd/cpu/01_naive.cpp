// opacity_entropy_bwd.cpu.01_naive: one logarithm per ray.
//
// CHANGE    the naive loop.
// EXPECT    bound by the logarithm; there are only as many as rays.
// NUMERICS  float.
#include <cmath>

#include "harness/core/registrar.h"
#include "reference/opacity_entropy_bwd/opacity_entropy_bwd.h"

namespace klab {
namespace {

void run(const OpacityEntropyBwd::Args<float>& x) {
  for (int64_t r = 0; r < x.shape.rays; ++r)
    x.d_opacity[r] = -x.d_loss[r] * (std::log(x.opacity[r] + float(OpacityEntropyFwd::floor)) + 1);
}

KLAB_VARIANT(OpacityEntropyBwd, {.run = run});

}  // namespace
}  // namespace klab
