#include "reference/matmul_bf16/matmul_bf16.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace klab {

void MatmulBf16::reference(const Args<double>& x, const Args<double>& magnitude) {
  const auto [m, n, k] = x.shape;
  std::vector<double> b(size_t(k * n));
  std::ranges::transform(x.b, x.b + k * n, b.begin(), [](Bfloat16 v) { return double(float_from(v)); });
  // The bound is at least 2^-24 times the magnitude: this much more for each 2^-126 that may be lost.
  constexpr double lost = 0x1p-126 / 0x1p-24;
  for (int64_t i = 0; i < m; ++i) {
    double *c = x.c + i * n, *size = magnitude.c + i * n;
    std::fill_n(c, n, 0.0);
    std::fill_n(size, n, lost * double(k));
    for (int64_t p = 0; p < k; ++p) {
      const double a = double(float_from(x.a[i * k + p]));
      for (int64_t j = 0; j < n; ++j) {
        const double factor = b[size_t(p * n + j)], product = a * factor;
        c[j] += product;
        size[j] += std::abs(product) + lost * (std::abs(a) + std::abs(factor));
      }
    }
  }
}

}  // namespace klab
