// voxel_march.cpu.72_no_end: rays reach the end of the box where they should end before it.
// Must be caught as Fault::wrong_value.
#include <algorithm>

#include "harness/core/call.h"
#include "harness/core/registry.h"
#include "reference/voxel_march/voxel_march.h"
#include "tests/mutants/mutant.h"

namespace klab {
namespace {

void run(const VoxelMarch::Args<float>& x) {
  float box[4];
  std::copy(x.box, x.box + 4, box);
  box[3] = kNoFar;
  VoxelMarch::Args<float> other = x;
  other.box = box;
  call<VoxelMarch>(*find_variant("voxel_march.cpu.01_naive"), other);
}

KLAB_MUTANT(VoxelMarch, Fault::wrong_value, {.run = run});

}  // namespace
}  // namespace klab
