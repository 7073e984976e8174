// opacity_binary_entropy_fwd.cpu.01_naive: two logarithms per ray.
//
// CHANGE    the naive loop.
// EXPECT    bound by the logarithms; there are only two for each ray.
// NUMERICS  float; ln(1 - o) by log1p, which keeps its digits where o is small.
#include <algorithm>
#include <cmath>

#include "harness/core/registrar.h"
#include "reference/opacity_binary_entropy_fwd/opacity_binary_entropy_fwd.h"

namespace klab {
namespace {

void run(const OpacityBinaryEntropyFwd::Args<float>& x) {
  constexpr float low = OpacityBinaryEntropyFwd::low, high = OpacityBinaryEntropyFwd::high;
  for (int64_t r = 0; r < x.shape.rays; ++r) {
    const float o = std::clamp(x.opacity[r], low, high);
    x.loss[r] = -(o * std::log(o) + (1 - o) * std::log1p(-o));
  }
}

KLAB_VARIANT(OpacityBinaryEntropyFwd, {.run = run});

}  // namespace
}  // namespace klab
