#include "reference/matmul/matmul.h"

#include <algorithm>
#include <cmath>
#include <thread>
#include <vector>

namespace klab {
namespace {

/// Rows [begin, end) of C and of its magnitude. Blocks of B that stay in cache, the innermost loop along
/// rows.
void rows(const Matmul::Args<double>& x, double* magnitude, int64_t begin, int64_t end) {
  constexpr int64_t k_block = 64, n_block = 512;
  const auto [m, n, k] = x.shape;
  std::fill(x.c + begin * n, x.c + end * n, 0.0);
  std::fill(magnitude + begin * n, magnitude + end * n, 0.0);
  for (int64_t j0 = 0; j0 < n; j0 += n_block)
    for (int64_t p0 = 0; p0 < k; p0 += k_block)
      for (int64_t i = begin; i < end; ++i) {
        const int64_t width = std::min(n_block, n - j0);
        double* c = x.c + i * n + j0;
        double* sum_abs = magnitude + i * n + j0;
        for (int64_t p = p0; p < std::min(k, p0 + k_block); ++p) {
          const double a = x.a[i * k + p];
          const double* b = x.b + p * n + j0;
          for (int64_t j = 0; j < width; ++j) {
            const double product = a * b[j];
            c[j] += product;
            sum_abs[j] += std::abs(product);
          }
        }
      }
}

}  // namespace

void Matmul::reference(const Args<double>& x, const Args<double>& magnitude) {
  const auto [m, n, k] = x.shape;
  const double products = double(m) * double(n) * double(k);
  constexpr double worth_a_thread = 4e6;
  const int64_t processors = std::max<int64_t>(1, std::thread::hardware_concurrency());
  const int64_t parts = std::clamp<int64_t>(int64_t(products / worth_a_thread), 1,
                                            std::min(processors, std::max<int64_t>(m, 1)));
  std::vector<std::jthread> others;
  for (int64_t t = 1; t < parts; ++t)
    others.emplace_back(rows, std::cref(x), magnitude.c, m * t / parts, m * (t + 1) / parts);
  rows(x, magnitude.c, 0, m / parts);
}

}  // namespace klab
