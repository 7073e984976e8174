// matvec_int4.cpu.01_naive: block by block, half a byte at a time.
//
// CHANGE    the naive loops: of each byte the low half, then the high half, each made a float and multiplied.
// EXPECT    4.5 bits a weight leave memory with little to do; shifts, masks, conversions and one chain of additions bind: three
//           or four cycles a weight, when memory would bring one in a tenth of a nanosecond.
// NUMERICS  float; a sum per block, scaled, and a sum of blocks.
#include "harness/core/registrar.h"
#include "kernels/common/scalar.h"
#include "reference/float16.h"
#include "reference/matvec_int4/matvec_int4.h"

namespace klab {
namespace {

KLAB_SCALAR_FUNCTION void run(const MatvecInt4::Args<float>& x) {
  constexpr int64_t kHalf = MatvecInt4::kBlock / 2;
  const int64_t blocks = x.shape.blocks;
  for (int64_t i = 0; i < x.shape.n; ++i) {
    float sum = 0;
    for (int64_t g = 0; g < blocks; ++g) {
      const uint8_t* q = x.q + (i * blocks + g) * kHalf;
      const float* in = x.x + g * MatvecInt4::kBlock;
      float block = 0;
      KLAB_SCALAR_LOOP
      for (int64_t b = 0; b < kHalf; ++b) {
        block += float((q[b] & 15) - 8) * in[b];
        block += float((q[b] >> 4) - 8) * in[b + kHalf];
      }
      sum += float_from_half(x.scale[i * blocks + g]) * block;
    }
    x.y[i] = sum;
  }
}

KLAB_VARIANT(MatvecInt4, {.run = run});

}  // namespace
}  // namespace klab
