// probe_matmul.cpu.14_missing_barrier: one thread packs the second operand, the other multiplies, without a
// barrier between them. Must be caught as Fault::nondeterministic.
#include <algorithm>
#include <chrono>
#include <thread>
#include <vector>

#include "tests/mutants/mutant.h"
#include "tests/mutants/probe_matmul/probe_matmul.h"

namespace klab {
namespace {

std::vector<float> pack;  // kept from call to call, as a scratch buffer would be

void multiply(const ProbeMatmul::Args<float>& x) {
  const auto [m, n, k] = x.shape;
  for (int64_t i = 0; i < m; ++i)
    for (int64_t j = 0; j < n; ++j) {
      float sum = 0;
      for (int64_t p = 0; p < k; ++p) sum += x.a[i * k + p] * pack[size_t(p * n + j)];
      x.c[i * n + j] = sum;
    }
}

// The sleep simulates any delay of a thread.
void run(const ProbeMatmul::Args<float>& x) {
  const int64_t size = x.shape.k * x.shape.n;
  pack.resize(size_t(size));
#pragma omp parallel sections
  {
#pragma omp section
    multiply(x);
#pragma omp section
    {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
      std::copy_n(x.b, size, pack.data());
    }
  }
}

KLAB_MUTANT(ProbeMatmul, Fault::nondeterministic, {.run = run});

}  // namespace
}  // namespace klab
