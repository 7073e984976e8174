// mlp_fwd.cpu.73_fp8_network_of_zeros: declares eight bits and answers with zeros, or with the logistic
// function of zeros.
// Must be caught as Fault::whole_output.
#include <algorithm>

#include "reference/mlp_fwd/mlp_fwd.h"
#include "tests/mutants/mutant.h"

namespace klab {
namespace {

void run(const MlpFwd::Args<float>& x) {
  std::fill_n(x.y, x.shape.out * x.shape.n, x.shape.logistic ? 0.5F : 0.0F);
}

KLAB_MUTANT(MlpFwd, Fault::whole_output, {.run = run, .numerics = {.unit = Unit::e4m3}});

}  // namespace
}  // namespace klab
