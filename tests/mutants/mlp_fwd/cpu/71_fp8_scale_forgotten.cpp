// mlp_fwd.cpu.71_fp8_scale_forgotten: activations and weights are rounded to e4m3 as they are. Those of size 1 fit; of the huge
// ones all become 448, and the product is too small. No element shows it: the bound of hard inputs is larger than the elements.
// Must be caught as Fault::whole_output.
#include "tests/mutants/mlp_fwd/fp8_network.h"
#include "tests/mutants/mutant.h"

namespace klab {
namespace {

KLAB_MUTANT(MlpFwd, Fault::whole_output,
            {.run = fp8_network<Fp8Mistake::scale_forgotten>, .numerics = {.unit = Unit::e4m3}});

}  // namespace
}  // namespace klab
