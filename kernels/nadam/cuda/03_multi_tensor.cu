// nadam.cuda.03_multi_tensor: all tensors in one launch, four entries per thread, 16 bytes an access.
//
// CHANGE    a block takes a stretch of 1024 entries of one tensor, the stretches of all tensors are one grid, and a thread's four
//           neighboring entries are one access of each array.
// EXPECT    a launch where there was one for each tensor; a quarter of the requests. Near the bandwidth whatever the tensors'
//           sizes are.
// NUMERICS  as the parent: the same operations.
// NEEDS     arrays that begin at multiples of 16 bytes for whole accesses; others go one entry at a time.
// SASS      LDG.128 STG.128; no LDL STL
#include "harness/core/registrar.h"
#include "kernels/common/optimizer/device.h"
#include "reference/nadam/nadam.h"

namespace klab {
namespace {

using Args = Nadam::Args<float>;
constexpr Optimizer kRule = Optimizer::nadam;

#include "kernels/common/optimizer/03_multi_tensor-inl.h"

KLAB_VARIANT(Nadam, {.run = run,
                     .parent = "02_fused_step",
                     .tiles = {4, kStretch},
                     .expect = {.shape = {1 << 23, 64}, .over_parent = 1.3}});

}  // namespace
}  // namespace klab
