// matmul_int8.cpu.71_sixteen_bit_sums: pairs of products are added in 16 bits that saturate, as VPMADDUBSW adds them; right
// for small factors.
// Must be caught as Fault::wrong_value.
#include <algorithm>

#include "reference/matmul_int8/matmul_int8.h"
#include "tests/mutants/mutant.h"

namespace klab {
namespace {

void run(const MatmulInt8::Args<float>& x) {
  const auto [m, n, k] = x.shape;
  for (int64_t i = 0; i < m; ++i)
    for (int64_t j = 0; j < n; ++j) {
      const auto product = [&](int64_t p) {  // the first factor unsigned, and taken off again below
        return p < k ? (int(x.a[i * k + p]) + 128) * int(x.b[p * n + j]) : 0;
      };
      int sum = 0;
      for (int64_t p = 0; p < k; p += 2) sum += std::clamp(product(p) + product(p + 1), -32768, 32767);
      for (int64_t p = 0; p < k; ++p) sum -= 128 * int(x.b[p * n + j]);
      x.c[i * n + j] = float(sum) * x.scale[j];
    }
}

KLAB_MUTANT(MatmulInt8, Fault::wrong_value, {.run = run});

}  // namespace
}  // namespace klab
