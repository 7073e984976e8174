// cast.cpu.70_ties_away: half a step is always added: ties go away from zero, and sums of many drift.
// Must be caught as Fault::wrong_value.
#include <bit>
#include <cstring>

#include "reference/cast/cast.h"
#include "reference/formats.h"
#include "tests/mutants/mutant.h"

namespace klab {
namespace {

void run(const Cast::Args<float>& x) {
  constexpr const NarrowFormat* formats[] = {&kF16, &kBf16, &kE4m3, &kE5m2};
  const int64_t width = x.shape.width();
  for (int64_t i = 0; i < x.shape.n; ++i) {
    const float product = x.x[i] * *x.scale;
    uint32_t bits = x.shape.format == Cast::int8 ? uint8_t(int8_from(double(product)))
                                                 : encode(*formats[x.shape.format], double(product));
    if (x.shape.format == Cast::bf16 && (product > 0 || product < 0) && std::abs(product) < 3e38F)
      bits = (std::bit_cast<uint32_t>(product) + 0x8000U) >> 16;
    for (int64_t b = 0; b < width; ++b) x.out[i * width + b] = uint8_t(bits >> 8 * b);
  }
}

KLAB_MUTANT(Cast, Fault::wrong_value, {.run = run});

}  // namespace
}  // namespace klab
