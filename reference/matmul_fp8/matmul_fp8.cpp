#include "reference/matmul_fp8/matmul_fp8.h"

#include <cmath>
#include <vector>

#include "reference/formats.h"
#include "reference/generator.h"

namespace klab {

void MatmulFp8::arrange(const Args<float>& x, Generator& random) {
  const auto [m, n, k] = x.shape;
  // Numbers as a quantizer leaves them, near the upper end of the range, or any pattern that is a number.
  const auto draw = [&](const uint8_t* values, int64_t count) {
    for (int64_t i = 0; i < count; ++i) {
      const bool any = random.widely || random() % 8 == 0;
      const auto size =
          uint32_t(any ? random() % (kE4m3.largest + 1) : 0x50 + random() % (kE4m3.largest - 0x4F));
      const_cast<uint8_t*>(values)[i] = uint8_t(size | (random() % 2) << 7);  // arrange() owns the inputs
    }
  };
  draw(x.a, m * k);
  draw(x.b, k * n);
}

void MatmulFp8::reference(const Args<double>& x, const Args<double>& magnitude) {
  const auto [m, n, k] = x.shape;
  for (int64_t i = 0; i < m; ++i) {
    for (int64_t j = 0; j < n; ++j) x.c[i * n + j] = magnitude.c[i * n + j] = 0;
    for (int64_t p = 0; p < k; ++p) {
      const double a = decode(kE4m3, x.a[i * k + p]);
      for (int64_t j = 0; j < n; ++j) {
        const double product = a * decode(kE4m3, x.b[p * n + j]) * x.scale[j];
        x.c[i * n + j] += product;
        magnitude.c[i * n + j] += std::abs(product);
      }
    }
  }
}

}  // namespace klab
