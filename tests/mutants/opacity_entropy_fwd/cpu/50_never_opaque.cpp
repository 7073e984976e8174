// opacity_entropy_fwd.cpu.50_never_opaque: keeps the opacity below 1, which belongs to its range.
// Class: inputs. Must be caught as Fault::wrong_value.
#include <algorithm>
#include <cmath>

#include "reference/opacity_entropy_fwd/opacity_entropy_fwd.h"
#include "tests/mutants/mutant.h"

namespace klab {
namespace {

void run(const OpacityEntropyFwd::Args<float>& x) {
  for (int64_t r = 0; r < x.shape.rays; ++r) {
    const float o = std::min(x.opacity[r], 0.9999F) + float(OpacityEntropyFwd::floor);
    x.loss[r] = -o * std::log(o);
  }
}

KLAB_MUTANT(OpacityEntropyFwd, Fault::wrong_value, {.run = run});

}  // namespace
}  // namespace klab
