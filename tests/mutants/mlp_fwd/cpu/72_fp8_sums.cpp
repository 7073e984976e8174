// mlp_fwd.cpu.72_fp8_sums: each addition rounds to four digits. A sum of 64 products then errs some eight times as much as
// its factors make it, which their bound covers.
// Must be caught as Fault::whole_output.
#include "tests/mutants/mlp_fwd/fp8_network.h"
#include "tests/mutants/mutant.h"

namespace klab {
namespace {

KLAB_MUTANT(MlpFwd, Fault::whole_output,
            {.run = fp8_network<Fp8Mistake::sums_of_eight_bits>, .numerics = {.unit = Unit::e4m3}});

}  // namespace
}  // namespace klab
