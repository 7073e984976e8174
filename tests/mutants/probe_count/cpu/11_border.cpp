// probe_count.cpu.11_border: counts values exactly on a border to the bin below.
// Must be caught as Fault::wrong_value.
#include "tests/mutants/mutant.h"
#include "tests/mutants/probe_count/probe_count.h"

namespace klab {
namespace {

void run(const ProbeCount::Args<float>& x) {
  for (int b = 0; b < 16; ++b) x.count[b] = 0;
  for (int64_t i = 0; i < x.shape.n; ++i) {
    const float scaled = x.x[i] * 16;
    const int bin = int(scaled);
    ++x.count[bin > 0 && float(bin) == scaled ? bin - 1 : bin];
  }
}

KLAB_MUTANT(ProbeCount, Fault::wrong_value, {.run = run});

}  // namespace
}  // namespace klab
