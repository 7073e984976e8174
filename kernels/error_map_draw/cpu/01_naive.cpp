// error_map_draw.cpu.01_naive: view after view.
//
// CHANGE    the definition: two sums over a view's blocks, then places that walk along the ends of blocks.
// EXPECT    chains of additions in double, four cycles a block; two hashes and two divisions a place.
// NUMERICS  double, in the order of the contract; weights are rounded once.
#include <algorithm>

#include "harness/core/registrar.h"
#include "reference/error_map_draw/error_map_draw.h"

namespace klab {
namespace {

#include "kernels/error_map_draw/cpu/01_naive-inl.h"

void run(const ErrorMapDraw::Args<float>& x) {
  for (int64_t v = 0; v < x.shape.views; ++v) draw_list(x, v);
}

KLAB_VARIANT(ErrorMapDraw, {.run = run});

}  // namespace
}  // namespace klab
