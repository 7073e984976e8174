// adamw_master.cpu.83_usual_betas: believes that beta1 is 0.9.
// Class: inputs. Must be caught as Fault::wrong_value.
#include <algorithm>

#include "harness/core/call.h"
#include "harness/core/registry.h"
#include "reference/adamw_master/adamw_master.h"
#include "tests/mutants/mutant.h"

namespace klab {
namespace {

void run(const AdamwMaster::Args<float>& x) {
  float hyper[optimizer::kHypers];
  std::copy_n(x.hyper, optimizer::kHypers, hyper);
  hyper[optimizer::beta1] = 0.9F;
  AdamwMaster::Args<float> believed = x;
  believed.hyper = hyper;
  call<AdamwMaster>(*find_variant("adamw_master.cpu.01_naive"), believed);
}

KLAB_MUTANT(AdamwMaster, Fault::wrong_value, {.run = run});

}  // namespace
}  // namespace klab
