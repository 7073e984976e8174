// window_sum.cpu.72_all_cores: as many threads as there are cores, also where fewer are asked for.
// Class: threads. Must be caught as Fault::threads.
#include <omp.h>

#include <algorithm>

#include "reference/window_sum/window_sum.h"
#include "tests/mutants/mutant.h"

namespace klab {
namespace {

void right(const WindowSum::Args<float>& x) {
  const auto [n, r] = x.shape;
  for (int64_t i = 0; i < n; ++i) {
    float sum = 0;
    for (int64_t j = std::max<int64_t>(0, i - r); j <= std::min(n - 1, i + r); ++j) sum += x.x[j];
    x.y[i] = sum;
  }
}

void run(const WindowSum::Args<float>& x) {
#pragma omp parallel num_threads(std::max(2, omp_get_num_procs()))
  {
#pragma omp single
    right(x);
  }
}

KLAB_MUTANT(WindowSum, Fault::threads, {.run = run});

}  // namespace
}  // namespace klab
