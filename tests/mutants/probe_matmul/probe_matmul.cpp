#include "tests/mutants/probe_matmul/probe_matmul.h"

#include <cmath>

namespace klab {

void ProbeMatmul::reference(const Args<double>& x, const Args<double>& magnitude) {
  const auto [m, n, k] = x.shape;
  for (int64_t i = 0; i < m; ++i)
    for (int64_t j = 0; j < n; ++j) {
      double sum = 0, size = 0;
      for (int64_t p = 0; p < k; ++p) {
        sum += x.a[i * k + p] * x.b[p * n + j];
        size += std::abs(x.a[i * k + p] * x.b[p * n + j]);
      }
      x.c[i * n + j] = sum;
      magnitude.c[i * n + j] = size;
    }
}

void ProbeMatmulBwd::reference(const Args<double>& x, const Args<double>& magnitude) {
  const auto [m, n, k] = x.shape;
  for (int64_t i = 0; i < m; ++i)
    for (int64_t p = 0; p < k; ++p) {
      double sum = 0, size = 0;
      for (int64_t j = 0; j < n; ++j) {
        sum += x.d_c[i * n + j] * x.b[p * n + j];
        size += std::abs(x.d_c[i * n + j] * x.b[p * n + j]);
      }
      x.d_a[i * k + p] = sum;
      magnitude.d_a[i * k + p] = size;
    }
  for (int64_t p = 0; p < k; ++p)
    for (int64_t j = 0; j < n; ++j) {
      double sum = 0, size = 0;
      for (int64_t i = 0; i < m; ++i) {
        sum += x.a[i * k + p] * x.d_c[i * n + j];
        size += std::abs(x.a[i * k + p] * x.d_c[i * n + j]);
      }
      x.d_b[p * n + j] = sum;
      magnitude.d_b[p * n + j] = size;
    }
}

}  // namespace klab
