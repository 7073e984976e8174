// round_narrow.cpu.01_naive: the definition, number after number.
//
// CHANGE    calls the header's conversions: to the format's bits and back.
// EXPECT    branches and calls of the mathematical library bind, some hundred cycles a number.
// NUMERICS  the contract's bits.
#include <cmath>

#include "harness/core/registrar.h"
#include "reference/round_narrow/round_narrow.h"

namespace klab {
namespace {

void run(const RoundNarrow::Args<float>& x) {
  const NarrowFormat& f = RoundNarrow::format_of(x.shape.format);
  for (int64_t i = 0; i < x.shape.n; ++i) {
    const float product = *x.factor * x.x[i], y = float(decode(f, encode(f, double(product))));
    x.y[i] = y;
    x.lost[0] += product != 0;
    x.lost[1] += product != 0 && y == 0;
    x.lost[2] += std::isfinite(product) && std::isinf(y);
  }
}

KLAB_VARIANT(RoundNarrow, {.run = run});

}  // namespace
}  // namespace klab
