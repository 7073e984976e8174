// round_narrow.cpu.70_loses_uncounted: zeros are counted by their size before rounding, against the smallest
// normal number: denormals are taken for lost, and they are not. A training would be told that its scale is
// too small.
// Must be caught as Fault::wrong_value.
#include <cmath>

#include "reference/round_narrow/round_narrow.h"
#include "tests/mutants/mutant.h"

namespace klab {
namespace {

void run(const RoundNarrow::Args<float>& x) {
  const NarrowFormat& f = RoundNarrow::format_of(x.shape.format);
  for (int64_t i = 0; i < x.shape.n; ++i) {
    const float product = *x.factor * x.x[i];
    x.y[i] = float(decode(f, encode(f, double(product))));
    x.lost[0] += product != 0;
    x.lost[1] += product != 0 && std::fabs(double(product)) < std::ldexp(1.0, f.min_exponent);
    x.lost[2] += std::isfinite(product) && std::isinf(x.y[i]);
  }
}

KLAB_MUTANT(RoundNarrow, Fault::wrong_value, {.run = run});

}  // namespace
}  // namespace klab
