// cast.cpu.01_naive: the definition, number by number.
//
// CHANGE    the naive loop: each product is rounded by the formats' own functions (reference/formats.h), in double.
// EXPECT    logarithm, two scalings by powers of two and a floor for each number: tens of nanoseconds, where memory brings
//           a float in a quarter of one.
// NUMERICS  the contract's bits.
#include "harness/core/registrar.h"
#include "reference/cast/cast.h"
#include "reference/formats.h"

namespace klab {
namespace {

void run(const Cast::Args<float>& x) {
  constexpr const NarrowFormat* formats[] = {&kF16, &kBf16, &kE4m3, &kE5m2};
  const int64_t width = x.shape.width();
  for (int64_t i = 0; i < x.shape.n; ++i) {
    const float product = x.x[i] * *x.scale;
    const uint32_t bits = x.shape.format == Cast::int8 ? uint8_t(int8_from(double(product)))
                                                       : encode(*formats[x.shape.format], double(product));
    for (int64_t b = 0; b < width; ++b) x.out[i * width + b] = uint8_t(bits >> 8 * b);
  }
}

KLAB_VARIANT(Cast, {.run = run});

}  // namespace
}  // namespace klab
