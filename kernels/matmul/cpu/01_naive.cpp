// matmul.cpu.01_naive: C[i,j] is the dot product of a row of A and a column of B.
//
// CHANGE    the definition, as three loops: i, j, p.
// EXPECT    one multiply-add an addition's latency, and worse where a column of B no longer fits into a
//           cache: its elements lie n floats apart, so that each costs its own cache line.
// NUMERICS  float accumulator, one chain of k additions.
#include "harness/core/registrar.h"
#include "reference/matmul/matmul.h"

namespace klab {
namespace {

void run(const Matmul::Args<float>& x) {
  const auto [m, n, k] = x.shape;
  for (int64_t i = 0; i < m; ++i)
    for (int64_t j = 0; j < n; ++j) {
      float sum = 0;
      for (int64_t p = 0; p < k; ++p) sum += x.a[i * k + p] * x.b[p * n + j];
      x.c[i * n + j] = sum;
    }
}

KLAB_VARIANT(Matmul, {.run = run});

}  // namespace
}  // namespace klab
