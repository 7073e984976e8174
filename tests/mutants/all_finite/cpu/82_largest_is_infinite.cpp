// all_finite.cpu.82_largest_is_infinite: takes the largest floats for infinite.
// Class: inputs. Must be caught as Fault::wrong_value.
#include <algorithm>
#include <cmath>

#include "reference/all_finite/all_finite.h"
#include "tests/mutants/mutant.h"

namespace klab {
namespace {

void run(const AllFinite::Args<float>& x) {
  for (int64_t i = 0; i < x.shape.n; ++i)
    if (!(std::abs(x.p[i]) < 3.3e38F)) {
      *x.first = std::min(*x.first, int32_t(i));
      return;
    }
}

KLAB_MUTANT(AllFinite, Fault::wrong_value, {.run = run});

}  // namespace
}  // namespace klab
