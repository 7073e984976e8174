// probe_scale.cpu.11_adds_twice: adds the last element twice, as overlapping tails do.
// Must be caught as Fault::wrong_value.
#include "tests/mutants/mutant.h"
#include "tests/mutants/probe_scale/probe_scale.h"

namespace klab {
namespace {

void run(const ProbeScale::Args<float>& x) {
  const int64_t n = x.shape.n;
  for (int64_t i = 0; i < n; ++i) x.y[i] += *x.factor * x.x[i];
  if (n % 8 == 1) x.y[n - 1] += *x.factor * x.x[n - 1];
}

KLAB_MUTANT(ProbeScale, Fault::wrong_value, {.run = run, .tiles = {8}});

}  // namespace
}  // namespace klab
