// cast.cpu.71_biased_dither: rounds at random, as one does for weights without masters; and the random number is never 0 and may
// be a whole step, so that numbers of the format move up, too: the mean of the results is above the numbers.
// Must be caught as Fault::wrong_value.
#include <bit>

#include "reference/cast/cast.h"
#include "reference/formats.h"
#include "tests/mutants/mutant.h"

namespace klab {
namespace {

void run(const Cast::Args<float>& x) {
  constexpr const NarrowFormat* formats[] = {&kF16, &kBf16, &kE4m3, &kE5m2};
  const int64_t width = x.shape.width();
  uint32_t random = 1;
  for (int64_t i = 0; i < x.shape.n; ++i) {
    const float product = x.x[i] * *x.scale;
    uint32_t bits = x.shape.format == Cast::int8 ? uint8_t(int8_from(double(product)))
                                                 : encode(*formats[x.shape.format], double(product));
    random = random * 1664525U + 1013904223U;  // Numerical Recipes' linear congruence
    if (x.shape.format == Cast::bf16 && (product > 0 || product < 0) && std::abs(product) < 3e38F)
      bits = (std::bit_cast<uint32_t>(product) + (random >> 16) + 1) >> 16;
    for (int64_t b = 0; b < width; ++b) x.out[i * width + b] = uint8_t(bits >> 8 * b);
  }
}

KLAB_MUTANT(Cast, Fault::wrong_value, {.run = run});

}  // namespace
}  // namespace klab
