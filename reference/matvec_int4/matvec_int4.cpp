#include "reference/matvec_int4/matvec_int4.h"

#include <cmath>

#include "reference/float16.h"

namespace klab {

void MatvecInt4::reference(const Args<double>& x, const Args<double>& magnitude) {
  const int64_t blocks = x.shape.blocks, half = kBlock / 2;
  for (int64_t i = 0; i < x.shape.n; ++i) {
    double sum = 0, size = 0;
    for (int64_t g = 0; g < blocks; ++g) {
      const double scale = double(float_from_half(x.scale[i * blocks + g]));
      for (int64_t b = 0; b < half; ++b) {
        const int byte = x.q[(i * blocks + g) * half + b];
        const double *in = x.x + g * kBlock + b, low = (byte & 15) - 8, high = (byte >> 4) - 8;
        sum += scale * (low * in[0] + high * in[half]);
        size += std::abs(scale) * (std::abs(low * in[0]) + std::abs(high * in[half]) + 0x1p-124);
      }
    }
    x.y[i] = sum;
    magnitude.y[i] = size;
  }
}

}  // namespace klab
