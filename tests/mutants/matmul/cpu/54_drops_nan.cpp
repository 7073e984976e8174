// matmul.cpu.54_drops_nan: leaves out products that are no numbers.
// Class: not finite. Must be caught as Fault::wrong_value.
#include <cmath>

#include "reference/matmul/matmul.h"
#include "tests/mutants/mutant.h"

namespace klab {
namespace {

void run(const Matmul::Args<float>& x) {
  const auto [m, n, k] = x.shape;
  for (int64_t i = 0; i < m; ++i)
    for (int64_t j = 0; j < n; ++j) {
      float sum = 0;
      for (int64_t p = 0; p < k; ++p) {
        const float product = x.a[i * k + p] * x.b[p * n + j];
        if (!std::isnan(product)) sum += product;
      }
      x.c[i * n + j] = sum;
    }
}

KLAB_MUTANT(Matmul, Fault::wrong_value, {.run = run});

}  // namespace
}  // namespace klab
