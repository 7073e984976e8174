// probe_count.cpu.10_rounds: rounds to the nearest bin.
// Must be caught as Fault::wrong_value.
#include "tests/mutants/mutant.h"
#include "tests/mutants/probe_count/probe_count.h"

namespace klab {
namespace {

void run(const ProbeCount::Args<float>& x) {
  for (int b = 0; b < 16; ++b) x.count[b] = 0;
  for (int64_t i = 0; i < x.shape.n; ++i) ++x.count[int(x.x[i] * 16 + 0.5F) % 16];
}

KLAB_MUTANT(ProbeCount, Fault::wrong_value, {.run = run});

}  // namespace
}  // namespace klab
