// adamw_master.cpu.02_fused: everything about an entry while it is in registers.
//
// CHANGE    one pass: the gradient is unscaled as it is read, and the weight made as the master is written.
//           Values that do not depend on the entry are computed before the loop, which has no branch left and
//           becomes vectors.
// EXPECT    30 bytes an entry in place of 42, four entries at a time: twice the parent.
// NUMERICS  as the parent, with the first correction divided into the rate.
#include <cmath>

#include "harness/core/registrar.h"
#include "reference/adamw_master/adamw_master.h"

namespace klab {
namespace {

#include "kernels/adamw_master/cpu/02_fused-inl.h"

void run(const AdamwMaster::Args<float>& x) {
  if (*x.first == AdamwMaster::kAllFinite) ++*x.steps;
  update(x, 0, x.shape.n);
}

KLAB_VARIANT(AdamwMaster,
             {.run = run, .parent = "01_naive", .expect = {.shape = {1 << 22}, .over_parent = 1.5}});

}  // namespace
}  // namespace klab
