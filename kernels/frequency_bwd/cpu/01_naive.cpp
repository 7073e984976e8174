// frequency_bwd.cpu.01_naive: octave by octave for each position.
//
// CHANGE    the naive loops.
// EXPECT    each sine and cosine reduces its argument for itself.
// NUMERICS  2^k·x modulo 2 is exact; then the library's sine and cosine of pi times it.
#include <cmath>

#include "harness/core/registrar.h"
#include "reference/frequency_bwd/frequency_bwd.h"

namespace klab {
namespace {

void run(const FrequencyBwd::Args<float>& x) {
  const auto [n, dim, octaves] = x.shape;
  for (int64_t c = 0; c < dim; ++c)
    for (int64_t i = 0; i < n; ++i) {
      float sum = 0;
      for (int64_t k = 0; k < octaves; ++k) {
        const float turn = std::remainder(std::ldexp(x.positions[c * n + i], int(k)), 2.0F);
        const int64_t row = (c * octaves + k) * 2;
        sum += std::ldexp(float(M_PI), int(k)) *
               (x.d_features[row * n + i] * std::cos(float(M_PI) * turn) -
                x.d_features[(row + 1) * n + i] * std::sin(float(M_PI) * turn));
      }
      x.d_positions[c * n + i] = sum;
    }
}

KLAB_VARIANT(FrequencyBwd, {.run = run});

}  // namespace
}  // namespace klab
