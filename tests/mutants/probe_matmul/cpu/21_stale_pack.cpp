// probe_matmul.cpu.21_stale_pack: packs the second operand once for each pointer.
// Must be caught as Fault::stale.
#include <map>
#include <vector>

#include "tests/mutants/mutant.h"
#include "tests/mutants/probe_matmul/probe_matmul.h"

namespace klab {
namespace {

std::map<const float*, std::vector<float>> packs;

void run(const ProbeMatmul::Args<float>& x) {
  const auto [m, n, k] = x.shape;
  std::vector<float>& pack = packs[x.b];
  if (int64_t(pack.size()) != k * n) pack.assign(x.b, x.b + k * n);
  for (int64_t i = 0; i < m; ++i)
    for (int64_t j = 0; j < n; ++j) {
      float sum = 0;
      for (int64_t p = 0; p < k; ++p) sum += x.a[i * k + p] * pack[size_t(p * n + j)];
      x.c[i * n + j] = sum;
    }
}

KLAB_MUTANT(ProbeMatmul, Fault::stale, {.run = run});

}  // namespace
}  // namespace klab
