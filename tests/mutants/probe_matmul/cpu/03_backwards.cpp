// probe_matmul.cpu.03_backwards: right: the sum taken from its end, in double.
#include "harness/core/registrar.h"
#include "tests/mutants/probe_matmul/probe_matmul.h"

namespace klab {
namespace {

void run(const ProbeMatmul::Args<float>& x) {
  const auto [m, n, k] = x.shape;
  for (int64_t i = 0; i < m; ++i)
    for (int64_t j = 0; j < n; ++j) {
      double sum = 0;
      for (int64_t p = k; p-- > 0;) sum += double(x.a[i * k + p]) * double(x.b[p * n + j]);
      x.c[i * n + j] = float(sum);
    }
}

KLAB_VARIANT(ProbeMatmul, {.run = run, .numerics = {.unit = Unit::f64}, .tiles = {16}});

}  // namespace
}  // namespace klab
