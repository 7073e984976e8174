// mlp_fwd.cpu.70_fp8_scale_twice: sums of a matrix that had to be enlarged are divided by its power of two where they are rounded, and
// once more, so that a layer is many times too small. No element shows it: the proven bound of four digits is as large as most are.
// Must be caught as Fault::whole_output.
#include "tests/mutants/mlp_fwd/fp8_network.h"
#include "tests/mutants/mutant.h"

namespace klab {
namespace {

KLAB_MUTANT(MlpFwd, Fault::whole_output,
            {.run = fp8_network<Fp8Mistake::scale_twice>, .numerics = {.unit = Unit::e4m3}});

}  // namespace
}  // namespace klab
