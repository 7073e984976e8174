// compact.cuda.02_rows: the grid knows the indices.
//
// CHANGE    blocks lie along all three dimensions, so that nothing is divided. A thread has four elements of a row, all loaded
//           before the first is stored.
// EXPECT    some 10 instructions an element in place of 200. Slices and broadcasts are a copy: 33 MB are 8 us on a GPU that
//           copies 4.3 TB/s, three times the parent. A transposed view still has 32 sectors a load.
// NUMERICS  copies bits.
// NEEDS     lengths and strides below 2^30.
// SASS      LDG STG; no LDL STL CALL
#include "harness/core/registrar.h"
#include "kernels/common/cuda.h"
#include "reference/compact/compact.h"

namespace klab {
namespace {

#include "kernels/compact/cuda/02_rows-inl.h"

void run(const Compact::Args<float>& x) {
  const Compact::Shape& s = x.shape;
  if (s.d0 * s.d1 * s.d2 > 0) copy_rows(view_of(s), x.base + s.offset, x.out);
}

KLAB_VARIANT(Compact, {.run = run,
                       .parent = "01_one_each",
                       .tiles = {kRows, kLanes* kEach},
                       .expect = {.shape = {16, 512, 512, 524288, 1024, 1, 0}, .over_parent = 2},
                       .supported = supported});

}  // namespace
}  // namespace klab
