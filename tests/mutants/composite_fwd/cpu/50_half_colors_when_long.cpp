// composite_fwd.cpu.50_half_colors_when_long: rounds the colors of long rays to half precision.
// Class: bounds. Must be caught as Fault::wrong_value.
#include <bit>
#include <cmath>
#include <cstdint>

#include "reference/composite_fwd/composite_fwd.h"
#include "tests/mutants/mutant.h"

namespace klab {
namespace {

/// Rounded to 11 bits, as half precision has.
float half(float v) {
  uint32_t bits = std::bit_cast<uint32_t>(v);
  bits = (bits + 0xFFF + (bits >> 13 & 1)) & 0xFFFFE000U;
  return std::bit_cast<float>(bits);
}

void run(const CompositeFwd::Args<float>& x) {
  const auto [rays, samples] = x.shape;
  for (int64_t r = 0; r < rays; ++r) {
    const int64_t begin = x.ray_begin[r], end = x.ray_begin[r + 1];
    const bool is_long = end - begin > 64;
    float T = 1, opacity = 0, depth = 0, color[3] = {};
    for (int64_t i = begin; i < end; ++i) {
      const float tau = std::exp(x.density_raw[i]) * x.delta[i], weight = T * -std::expm1(-tau);
      for (int64_t c = 0; c < 3; ++c)
        color[c] += weight * (is_long ? half(x.rgb[c * samples + i]) : x.rgb[c * samples + i]);
      opacity += weight;
      depth += weight * x.t[i];
      T *= std::exp(-tau);
    }
    for (int64_t c = 0; c < 3; ++c) x.color[c * rays + r] = color[c] + T * x.background[c * rays + r];
    x.opacity[r] = opacity;
    x.depth[r] = depth;
  }
}

KLAB_MUTANT(CompositeFwd, Fault::wrong_value, {.run = run, .numerics = {.growth = Growth::linear}});

}  // namespace
}  // namespace klab
