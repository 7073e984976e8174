// hashtable_fwd.cpu.71_smooth_is_linear: interpolates linearly where slopes were to be continuous.
// Must be caught as Fault::wrong_value: between the corners of a cell the two differ.
#include "harness/core/call.h"
#include "harness/core/registry.h"
#include "reference/hashtable_fwd/hashtable_fwd.h"
#include "tests/mutants/mutant.h"

namespace klab {
namespace {

void run(const HashtableFwd::Args<float>& x) {
  HashtableFwd::Args<float> linear = x;
  if (linear.shape.blend == table_blend::smoothstep) linear.shape.blend = table_blend::linear;
  call<HashtableFwd>(*find_variant("hashtable_fwd.cpu.01_naive"), linear);
}

KLAB_MUTANT(HashtableFwd, Fault::wrong_value, {.run = run});

}  // namespace
}  // namespace klab
