// matmul_int8.cpu.83_sums_in_float: sums up in float, which holds integers up to 2^24.
// Class: sizes. Must be caught as Fault::wrong_value.
#include "reference/matmul_int8/matmul_int8.h"
#include "tests/mutants/mutant.h"

namespace klab {
namespace {

void run(const MatmulInt8::Args<float>& x) {
  const auto [m, n, k] = x.shape;
  for (int64_t i = 0; i < m; ++i)
    for (int64_t j = 0; j < n; ++j) {
      float sum = 0;
      for (int64_t p = 0; p < k; ++p) sum += float(x.a[i * k + p]) * float(x.b[p * n + j]);
      x.c[i * n + j] = sum * x.scale[j];
    }
}

KLAB_MUTANT(MatmulInt8, Fault::wrong_value, {.run = run});

}  // namespace
}  // namespace klab
