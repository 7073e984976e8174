// hashgrid_fwd.cpu.81_half_entries: rounds the entries of the table to half precision.
// Class: bounds. Must be caught as Fault::wrong_value.
#include <vector>

#include "harness/core/call.h"
#include "harness/core/registry.h"
#include "reference/float16.h"
#include "reference/hashgrid_fwd/hashgrid_fwd.h"
#include "tests/mutants/mutant.h"

namespace klab {
namespace {

void run(const HashgridFwd::Args<float>& x) {
  const int64_t values = hashgrid_entries(hashgrid_levels(x.shape)) * x.shape.features;
  std::vector<float> table(x.table, x.table + values);
  for (float& v : table) v = float_from_half(half_from_float(v));
  HashgridFwd::Args<float> rounded = x;
  rounded.table = table.data();
  call<HashgridFwd>(*find_variant("hashgrid_fwd.cpu.01_naive"), rounded);
}

KLAB_MUTANT(HashgridFwd, Fault::wrong_value, {.run = run});

}  // namespace
}  // namespace klab
