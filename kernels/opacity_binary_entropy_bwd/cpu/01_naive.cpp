// opacity_binary_entropy_bwd.cpu.01_naive: two logarithms per ray.
//
// CHANGE    the naive loop.
// EXPECT    bound by the logarithms; there are only two for each ray.
// NUMERICS  float; ln(1 - o) by log1p, which keeps its digits where o is small.
#include <cmath>

#include "harness/core/registrar.h"
#include "reference/opacity_binary_entropy_bwd/opacity_binary_entropy_bwd.h"

namespace klab {
namespace {

void run(const OpacityBinaryEntropyBwd::Args<float>& x) {
  constexpr float low = OpacityBinaryEntropyFwd::low, high = OpacityBinaryEntropyFwd::high;
  for (int64_t r = 0; r < x.shape.rays; ++r) {
    const float o = x.opacity[r];
    const bool clamped = o < low || o > high;
    x.d_opacity[r] = (clamped ? 0 : std::log1p(-o) - std::log(o)) * x.d_loss[r];
  }
}

KLAB_VARIANT(OpacityBinaryEntropyBwd, {.run = run});

}  // namespace
}  // namespace klab
