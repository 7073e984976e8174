// pool_fwd.cpu.72_begins_at_minus_1e30: the search for a maximum begins at -1e30.
// Class: inputs. Must be caught as Fault::wrong_value.
#include <algorithm>

#include "harness/core/call.h"
#include "harness/core/registry.h"
#include "reference/pool_fwd/pool_fwd.h"
#include "tests/mutants/mutant.h"

namespace klab {
namespace {

void run(const PoolFwd::Args<float>& x) {
  call<PoolFwd>(*find_variant("pool_fwd.cpu.01_naive"), x);
  const PoolShape& s = x.shape;
  for (int64_t i = 0; s.is_max() && i < s.n * s.c * s.oh() * s.ow(); ++i) x.y[i] = std::max(x.y[i], -1e30F);
}

KLAB_MUTANT(PoolFwd, Fault::wrong_value, {.run = run});

}  // namespace
}  // namespace klab
