// pixel_loss_fwd.cpu.50_minimum_drops_nan: takes the smaller of error and turn, which of NaN and a number is the number.
// Class: not finite. Must be caught as Fault::wrong_value.
#include <cmath>

#include "reference/pixel_loss_fwd/pixel_loss_fwd.h"
#include "tests/mutants/mutant.h"

namespace klab {
namespace {

void run(const PixelLossFwd::Args<float>& x) {
  const auto [n, kind] = x.shape;
  const float turn = PixelLossFwd::turn(kind);
  for (int64_t i = 0; i < n; ++i) {
    float sum = 0;
    for (int64_t c = 0; c < 3; ++c) {
      const float e = std::abs(x.prediction[c * n + i] - x.target[c * n + i]);
      const float least = kind == 0 ? e : std::fmin(e, turn);
      sum += kind == 0 ? e * e : least * (std::fmax(e, 0.0F) - least / 2);
    }
    x.loss[i] = sum / 3;
  }
}

KLAB_MUTANT(PixelLossFwd, Fault::wrong_value, {.run = run});

}  // namespace
}  // namespace klab
