// hashtable_bwd.cpu.71_levels_alike: takes all levels to be as large as each other.
// Must be caught as Fault::wrong_value: sizes that differ.
#include <vector>

#include "harness/core/call.h"
#include "harness/core/registry.h"
#include "reference/hashtable_bwd/hashtable_bwd.h"
#include "tests/mutants/mutant.h"

namespace klab {
namespace {

void run(const HashtableBwd::Args<float>& x) {
  const std::vector<int64_t> alike(size_t(x.shape.levels), x.shape.entries / x.shape.levels / 8 * 8);
  HashtableBwd::Args<float> wrong = x;
  wrong.sizes = alike.data();
  call<HashtableBwd>(*find_variant("hashtable_bwd.cpu.01_serial"), wrong);
}

KLAB_MUTANT(HashtableBwd, Fault::wrong_value, {.run = run});

}  // namespace
}  // namespace klab
