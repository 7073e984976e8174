// probe_matmul.cpu.27_input_changed: scales an input in place.
// Must be caught as Fault::input_changed.
#include "tests/mutants/mutant.h"
#include "tests/mutants/probe_matmul/probe_matmul.h"

namespace klab {
namespace {

void run(const ProbeMatmul::Args<float>& x) {
  const auto [m, n, k] = x.shape;
  if (m * k > 0) const_cast<float*>(x.a)[m * k - 1] *= 1.5F;
  for (int64_t i = 0; i < m; ++i)
    for (int64_t j = 0; j < n; ++j) {
      float sum = 0;
      for (int64_t p = 0; p < k; ++p) sum += x.a[i * k + p] * x.b[p * n + j];
      x.c[i * n + j] = sum;
    }
}

KLAB_MUTANT(ProbeMatmul, Fault::input_changed, {.run = run});

}  // namespace
}  // namespace klab
