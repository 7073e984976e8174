// matvec_int4.cpu.71_scale_of_the_row: takes the first block's scale for the whole row, as if scales were one a channel.
// Must be caught as Fault::wrong_value.
#include "reference/float16.h"
#include "reference/matvec_int4/matvec_int4.h"
#include "tests/mutants/mutant.h"

namespace klab {
namespace {

void run(const MatvecInt4::Args<float>& x) {
  const int64_t blocks = x.shape.blocks, half = MatvecInt4::kBlock / 2;
  for (int64_t i = 0; i < x.shape.n; ++i) {
    float sum = 0;
    for (int64_t g = 0; g < blocks; ++g)
      for (int64_t b = 0; b < half; ++b) {
        const uint8_t both = x.q[(i * blocks + g) * half + b];
        const float* in = x.x + g * MatvecInt4::kBlock + b;
        sum += float(int(both & 15U) - 8) * in[0] + float(int(both >> 4U) - 8) * in[half];
      }
    x.y[i] = blocks > 0 ? sum * float_from_half(x.scale[i * blocks]) : 0;
  }
}

KLAB_MUTANT(MatvecInt4, Fault::wrong_value, {.run = run});

}  // namespace
}  // namespace klab
