// hashtable_bwd.cpu.70_nearest_spread: gives all corners their share where the forward has read one.
// Must be caught as Fault::wrong_value: seven corners of eight get a gradient that is not theirs.
#include "harness/core/call.h"
#include "harness/core/registry.h"
#include "reference/hashtable_bwd/hashtable_bwd.h"
#include "tests/mutants/mutant.h"

namespace klab {
namespace {

void run(const HashtableBwd::Args<float>& x) {
  HashtableBwd::Args<float> spread = x;
  if (spread.shape.blend == table_blend::nearest) spread.shape.blend = table_blend::linear;
  call<HashtableBwd>(*find_variant("hashtable_bwd.cpu.01_serial"), spread);
}

KLAB_MUTANT(HashtableBwd, Fault::wrong_value, {.run = run});

}  // namespace
}  // namespace klab
