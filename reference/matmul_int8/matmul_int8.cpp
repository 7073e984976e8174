#include "reference/matmul_int8/matmul_int8.h"

#include <cmath>
#include <vector>

#include "reference/generator.h"

namespace klab {

void MatmulInt8::arrange(const Args<float>& x, Generator& random) {
  const auto [m, n, k] = x.shape;
  const auto lower = [&](const int8_t* values, int64_t count) {
    for (int64_t i = 0; i < count / 16; ++i)
      const_cast<int8_t*>(values)[random() % uint64_t(count)] = -128;  // arrange() owns the inputs
  };
  lower(x.a, m * k);
  lower(x.b, k * n);
  // Sums as large as they get: a float holds them no more from some thousand terms on.
  if (!random.widely) return;
  for (int64_t i = 0; i < m * k; ++i) const_cast<int8_t*>(x.a)[i] = int8_t(127 - int(random() % 3));
  for (int64_t i = 0; i < k * n; ++i) const_cast<int8_t*>(x.b)[i] = int8_t(random() % 2 ? 125 : 126);
}

void MatmulInt8::reference(const Args<double>& x, const Args<double>& magnitude) {
  const auto [m, n, k] = x.shape;
  std::vector<int64_t> sums(static_cast<size_t>(n));
  for (int64_t i = 0; i < m; ++i) {
    sums.assign(size_t(n), 0);
    for (int64_t p = 0; p < k; ++p) {
      const int64_t a = x.a[i * k + p];
      for (int64_t j = 0; j < n; ++j) sums[size_t(j)] += a * x.b[p * n + j];
    }
    for (int64_t j = 0; j < n; ++j) {
      x.c[i * n + j] = x.scale[j] * double(sums[size_t(j)]);
      magnitude.c[i * n + j] =
          std::abs(x.c[i * n + j]);  // the sum has no error, so only the result's size counts
    }
  }
}

}  // namespace klab
