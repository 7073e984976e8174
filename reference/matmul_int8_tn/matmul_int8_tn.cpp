#include "reference/matmul_int8_tn/matmul_int8_tn.h"

#include <cmath>

#include "reference/generator.h"

namespace klab {

void MatmulInt8Tn::arrange(const Args<float>& x, Generator& random) {
  MatmulInt8::arrange({x.shape, x.a, x.b, x.scale, x.c}, random);  // changes bytes, whatever their order
}

void MatmulInt8Tn::reference(const Args<double>& x, const Args<double>& magnitude) {
  const auto [m, n, k] = x.shape;
  for (int64_t i = 0; i < m; ++i)
    for (int64_t j = 0; j < n; ++j) {
      int64_t sum = 0;
      for (int64_t p = 0; p < k; ++p) sum += int64_t{x.a[i * k + p]} * x.b[j * k + p];
      x.c[i * n + j] = x.scale[j] * double(sum);
      magnitude.c[i * n + j] = std::abs(x.c[i * n + j]);  // the sum has no error
    }
}

}  // namespace klab
