#include "reference/matmul_fp8_tn/matmul_fp8_tn.h"

#include <cmath>

#include "reference/formats.h"
#include "reference/generator.h"

namespace klab {

void MatmulFp8Tn::arrange(const Args<float>& x, Generator& random) {
  MatmulFp8::arrange({x.shape, x.a, x.b, x.scale, x.c}, random);  // draws bytes, whatever their order
}

void MatmulFp8Tn::reference(const Args<double>& x, const Args<double>& magnitude) {
  const auto [m, n, k] = x.shape;
  for (int64_t i = 0; i < m; ++i)
    for (int64_t j = 0; j < n; ++j) {
      double sum = 0, size = 0;
      for (int64_t p = 0; p < k; ++p) {
        const double product = decode(kE4m3, x.a[i * k + p]) * decode(kE4m3, x.b[j * k + p]);
        sum += product;
        size += std::abs(product);
      }
      x.c[i * n + j] = sum * x.scale[j];
      magnitude.c[i * n + j] = size * std::abs(x.scale[j]);
    }
}

}  // namespace klab
