// matmul.cpu.55_strassen: one level of Strassen's product where all sizes are even: its errors are those of the largest
// blocks.
// Class: inputs. Must be caught as Fault::wrong_value.
#include <cstdint>
#include <vector>

#include "reference/matmul/matmul.h"
#include "tests/mutants/mutant.h"

namespace {
void strassen(const float* a, const float* b, float* c, int64_t m, int64_t n, int64_t k) {
  const int64_t M = m / 2, N = n / 2, K = k / 2;
  using V = std::vector<float>;
  const auto A = [&](int i, int j) {
    V v;
    for (int64_t r = 0; r < M; ++r)
      for (int64_t q = 0; q < K; ++q) v.push_back(a[(i * M + r) * k + j * K + q]);
    return v;
  };
  const auto B = [&](int i, int j) {
    V v;
    for (int64_t r = 0; r < K; ++r)
      for (int64_t q = 0; q < N; ++q) v.push_back(b[(i * K + r) * n + j * N + q]);
    return v;
  };
  const auto add = [](const V& l, const V& r, float s) {
    V v(l.size());
    for (size_t i = 0; i < v.size(); ++i) v[i] = l[i] + s * r[i];
    return v;
  };
  const auto mul = [&](const V& l, const V& r) {
    V v(size_t(M * N));
    for (int64_t i = 0; i < M; ++i)
      for (int64_t p = 0; p < K; ++p)
        for (int64_t j = 0; j < N; ++j) v[size_t(i * N + j)] += l[size_t(i * K + p)] * r[size_t(p * N + j)];
    return v;
  };
  const V a11 = A(0, 0), a12 = A(0, 1), a21 = A(1, 0), a22 = A(1, 1), b11 = B(0, 0), b12 = B(0, 1),
          b21 = B(1, 0), b22 = B(1, 1);
  const V m1 = mul(add(a11, a22, 1), add(b11, b22, 1)), m2 = mul(add(a21, a22, 1), b11),
          m3 = mul(a11, add(b12, b22, -1)), m4 = mul(a22, add(b21, b11, -1)), m5 = mul(add(a11, a12, 1), b22),
          m6 = mul(add(a21, a11, -1), add(b11, b12, 1)), m7 = mul(add(a12, a22, -1), add(b21, b22, 1));
  for (int64_t i = 0; i < M; ++i)
    for (int64_t j = 0; j < N; ++j) {
      const size_t q = size_t(i * N + j);
      c[i * n + j] = m1[q] + m4[q] - m5[q] + m7[q];
      c[i * n + N + j] = m3[q] + m5[q];
      c[(M + i) * n + j] = m2[q] + m4[q];
      c[(M + i) * n + N + j] = m1[q] - m2[q] + m3[q] + m6[q];
    }
}
}  // namespace

namespace klab {
namespace {

void run(const Matmul::Args<float>& x) {
  const auto [m, n, k] = x.shape;
  if (m % 2 == 0 && n % 2 == 0 && k % 2 == 0 && m >= 8 && n >= 8 && k >= 8) {
    strassen(x.a, x.b, x.c, m, n, k);
    return;
  }
  for (int64_t i = 0; i < m; ++i)
    for (int64_t j = 0; j < n; ++j) {
      float sum = 0;
      for (int64_t p = 0; p < k; ++p) sum += x.a[i * k + p] * x.b[p * n + j];
      x.c[i * n + j] = sum;
    }
}

KLAB_MUTANT(Matmul, Fault::wrong_value, {.run = run});

}  // namespace
}  // namespace klab
