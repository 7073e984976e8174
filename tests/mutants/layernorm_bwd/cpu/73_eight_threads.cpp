// layernorm_bwd.cpu.73_eight_threads: with eight threads and more the rows past the first 64 are forgotten.
// Class: threads. Must be caught as Fault::wrong_value.
#include <omp.h>
#include <algorithm>

#include "harness/core/call.h"
#include "harness/core/registry.h"
#include "reference/layernorm_bwd/layernorm_bwd.h"
#include "tests/mutants/mutant.h"

namespace klab {
namespace {

void run(const LayernormBwd::Args<float>& x) {
  const Variant& naive = *find_variant("layernorm_bwd.cpu.01_naive");
  call<LayernormBwd>(naive, x);
  if (omp_get_max_threads() < 8) return;
  LayernormBwd::Args<float> first = x;
  first.shape.n = std::min<int64_t>(x.shape.n, 64);
  call<LayernormBwd>(naive, first);  // the sums of these rows in place of all
}

KLAB_MUTANT(LayernormBwd, Fault::wrong_value, {.run = run});

}  // namespace
}  // namespace klab
