// matmul_bwd.cpu.02_loop_order: the innermost loop goes along rows, whichever operand is transposed.
//
// CHANGE    d_b adds a multiple of a row of d_c to a row of itself, for each element of A. d_a keeps its
//           order, whose operands both lie along j already, and takes 16 sums side by side so that they
//           need not wait.
// EXPECT    d_b gains as the forward's loop order does; d_a gains the lanes. At least 4 times at 512.
// NUMERICS  float accumulators; d_a: 16 chains of n/16 additions, then their sum; d_b: one chain of m.
#include <algorithm>

#include "harness/core/registrar.h"
#include "reference/matmul_bwd/matmul_bwd.h"

namespace klab {
namespace {

/// Σ a[j]·b[j]. The compiler may not reorder a float sum, so the chains that it could make vectors of are
/// written out.
float dot(const float* a, const float* b, int64_t n) {
  constexpr int64_t chains = 16;
  float sums[chains] = {};
  int64_t j = 0;
  for (; j + chains <= n; j += chains)
    for (int64_t s = 0; s < chains; ++s) sums[s] += a[j + s] * b[j + s];
  float sum = 0;
  for (; j < n; ++j) sum += a[j] * b[j];
  for (const float s : sums) sum += s;
  return sum;
}

void run(const MatmulBwd::Args<float>& x) {
  const auto [m, n, k] = x.shape;
  for (int64_t i = 0; i < m; ++i)
    for (int64_t p = 0; p < k; ++p) x.d_a[i * k + p] = dot(x.d_c + i * n, x.b + p * n, n);
  std::fill_n(x.d_b, k * n, 0.0F);
  for (int64_t i = 0; i < m; ++i)
    for (int64_t p = 0; p < k; ++p) {
      const float a = x.a[i * k + p];
      const float* d_c = x.d_c + i * n;
      float* d_b = x.d_b + p * n;
      for (int64_t j = 0; j < n; ++j) d_b[j] += a * d_c[j];
    }
}

KLAB_VARIANT(MatmulBwd, {.run = run,
                         .parent = "01_naive",
                         .forward = "02_loop_order",
                         .tiles = {16},
                         .expect = {.shape = {512, 512, 512}, .over_parent = 4}});

}  // namespace
}  // namespace klab
