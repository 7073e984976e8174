// matvec_int4.cpu.70_neighbors_in_a_byte: takes the two weights of a byte for neighbors, where they are sixteen apart.
// Must be caught as Fault::wrong_value.
#include "reference/float16.h"
#include "reference/matvec_int4/matvec_int4.h"
#include "tests/mutants/mutant.h"

namespace klab {
namespace {

void run(const MatvecInt4::Args<float>& x) {
  const int64_t blocks = x.shape.blocks;
  for (int64_t i = 0; i < x.shape.n; ++i) {
    float sum = 0;
    for (int64_t g = 0; g < blocks; ++g)
      for (int64_t b = 0; b < 16; ++b) {
        const int byte = x.q[(i * blocks + g) * 16 + b];
        const float* in = x.x + g * 32 + 2 * b;
        sum += float_from_half(x.scale[i * blocks + g]) *
               (float((byte & 15) - 8) * in[0] + float((byte >> 4) - 8) * in[1]);
      }
    x.y[i] = sum;
  }
}

KLAB_MUTANT(MatvecInt4, Fault::wrong_value, {.run = run});

}  // namespace
}  // namespace klab
