// occupancy_choose.cpu.70_minus_zero: a cell at -0 is taken for one that no camera sees.
// Class: inputs. Must be caught as Fault::wrong_value.
#include <cmath>
#include <vector>

#include "harness/core/call.h"
#include "harness/core/registry.h"
#include "reference/occupancy_choose/occupancy_choose.h"
#include "tests/mutants/mutant.h"

namespace klab {
namespace {

void run(const OccupancyChoose::Args<float>& x) {
  std::vector<float> values(x.values, x.values + x.shape.cells);
  for (float& v : values)
    if (v == 0 && std::signbit(v)) v = -1;
  OccupancyChoose::Args<float> other = x;
  other.values = values.data();
  call<OccupancyChoose>(*find_variant("occupancy_choose.cpu.01_naive"), other);
}

KLAB_MUTANT(OccupancyChoose, Fault::wrong_value, {.run = run});

}  // namespace
}  // namespace klab
