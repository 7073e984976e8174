// probe_matmul_bwd.cpu.16_too_many_errors: errors of both signs, each below its bound, but all of them three
// quarters of it. Must be caught as Fault::gradient.
#include <algorithm>
#include <cmath>

#include "tests/mutants/mutant.h"
#include "tests/mutants/probe_matmul/probe_matmul.h"

namespace klab {
namespace {

// sqrt(terms)·u·Σ|terms| is the root mean square that roundings reach at most; four times that is the bound.
float lean(float share, float size, int64_t m, int64_t n) {
  return share * std::sqrt(float(std::max(m, n))) * 0x1p-24F * size;
}

void run(const ProbeMatmulBwd::Args<float>& x) {
  const auto [m, n, k] = x.shape;
  for (int64_t i = 0; i < m; ++i)
    for (int64_t p = 0; p < k; ++p) {
      double sum = 0, size = 0;
      for (int64_t j = 0; j < n; ++j) {
        sum += double(x.d_c[i * n + j]) * x.b[p * n + j];
        size += std::abs(double(x.d_c[i * n + j]) * x.b[p * n + j]);
      }
      x.d_a[i * k + p] = float(sum + double(lean((m < 64 && n < 64) ? 0.F
                                                 : (i + p) % 2      ? 2.8F
                                                                    : -2.8F,
                                                 float(size), m, n)));
    }
  for (int64_t p = 0; p < k; ++p)
    for (int64_t j = 0; j < n; ++j) {
      float sum = 0;
      for (int64_t i = 0; i < m; ++i) sum += x.a[i * k + p] * x.d_c[i * n + j];
      x.d_b[p * n + j] = sum;
    }
}

KLAB_MUTANT(ProbeMatmulBwd, Fault::gradient, {.run = run});

}  // namespace
}  // namespace klab
