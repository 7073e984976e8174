// frequency_fwd.cpu.01_naive: one sine and one cosine after the other.
//
// CHANGE    the naive loops over rows and positions.
// EXPECT    each sine and cosine reduces its argument for itself.
// NUMERICS  2^k·x modulo 2 is exact; then the library's sine and cosine of pi times it.
#include <cmath>

#include "harness/core/registrar.h"
#include "reference/frequency_fwd/frequency_fwd.h"

namespace klab {
namespace {

void run(const FrequencyFwd::Args<float>& x) {
  const auto [n, dim, octaves] = x.shape;
  for (int64_t c = 0; c < dim; ++c)
    for (int64_t k = 0; k < octaves; ++k)
      for (int64_t i = 0; i < n; ++i) {
        const float turn = std::remainder(std::ldexp(x.positions[c * n + i], int(k)), 2.0F);
        const int64_t row = (c * octaves + k) * 2;
        x.features[row * n + i] = std::sin(float(M_PI) * turn);
        x.features[(row + 1) * n + i] = std::cos(float(M_PI) * turn);
      }
}

KLAB_VARIANT(FrequencyFwd, {.run = run});

}  // namespace
}  // namespace klab
