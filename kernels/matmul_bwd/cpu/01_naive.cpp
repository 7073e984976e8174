// matmul_bwd.cpu.01_naive: each gradient element is one sum, as in the derivation.
//
// CHANGE    the two definitions, as three loops each.
// EXPECT    d_a walks along rows of both its operands, but waits for one addition after the other; d_b
//           walks down columns of both its operands and fetches two cache lines for each product.
// NUMERICS  float accumulator, one chain of n (d_a) or m (d_b) additions.
#include "harness/core/registrar.h"
#include "reference/matmul_bwd/matmul_bwd.h"

namespace klab {
namespace {

void run(const MatmulBwd::Args<float>& x) {
  const auto [m, n, k] = x.shape;
  for (int64_t i = 0; i < m; ++i)
    for (int64_t p = 0; p < k; ++p) {
      float sum = 0;
      for (int64_t j = 0; j < n; ++j) sum += x.d_c[i * n + j] * x.b[p * n + j];
      x.d_a[i * k + p] = sum;
    }
  for (int64_t p = 0; p < k; ++p)
    for (int64_t j = 0; j < n; ++j) {
      float sum = 0;
      for (int64_t i = 0; i < m; ++i) sum += x.a[i * k + p] * x.d_c[i * n + j];
      x.d_b[p * n + j] = sum;
    }
}

KLAB_VARIANT(MatmulBwd, {.run = run, .forward = "01_naive"});

}  // namespace
}  // namespace klab
