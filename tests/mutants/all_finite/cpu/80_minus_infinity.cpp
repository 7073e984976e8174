// all_finite.cpu.80_minus_infinity: takes minus infinity for a number.
// Class: inputs. Must be caught as Fault::wrong_value.
#include <algorithm>
#include <cmath>

#include "reference/all_finite/all_finite.h"
#include "tests/mutants/mutant.h"

namespace klab {
namespace {

void run(const AllFinite::Args<float>& x) {
  for (int64_t i = 0; i < x.shape.n; ++i)
    if (!(x.p[i] <= 3.4e38F)) {
      *x.first = std::min(*x.first, int32_t(i));
      return;
    }
}

KLAB_MUTANT(AllFinite, Fault::wrong_value, {.run = run});

}  // namespace
}  // namespace klab
