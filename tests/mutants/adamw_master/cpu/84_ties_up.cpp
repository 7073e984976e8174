// adamw_master.cpu.84_ties_up: half is added before a weight is cut to 16 bits: the middle goes up, not to
// the even one.
// Class: inputs. Must be caught as Fault::wrong_value.
#include <cstring>

#include "harness/core/call.h"
#include "harness/core/registry.h"
#include "reference/adamw_master/adamw_master.h"
#include "tests/mutants/mutant.h"

namespace klab {
namespace {

void run(const AdamwMaster::Args<float>& x) {
  call<AdamwMaster>(*find_variant("adamw_master.cpu.01_naive"), x);
  for (int64_t i = 0; i < x.shape.n; ++i) {
    uint32_t b;
    std::memcpy(&b, &x.master[i], 4);
    b = (b + 0x8000U) >> 16;
    std::memcpy(&x.weight[i], &b, 2);
  }
}

KLAB_MUTANT(AdamwMaster, Fault::wrong_value, {.run = run});

}  // namespace
}  // namespace klab
