// mlp_narrow_fwd.cpu.04_amx_tiles: weights in few bits, products by the processor's matrix unit.
//
// CHANGE    weights become rows of bfloat16s once a call, from whatever they are, and tiles multiply them, as in
//           mlp_fwd.cpu.10_amx_tiles.
// EXPECT    the same ten thousand numbers are widened once as in the parent. For 64 samples of the color network 56 products of tiles
//           at 16 cycles replace 12,672 of the parent's instructions; rounding sums for the next layer stays: at least 2.5 times the
//           parent.
// NUMERICS  bfloat16 factors; float sums, of even and odd channels apart; denormal factors and sums count as zero.
// NEEDS     AMX. Where the processor has none, a model does the same and is not timed.
#include <omp.h>

#include <algorithm>
#include <string>
#include <utility>

#include "harness/core/registrar.h"
#include "kernels/common/mlp/rounding.h"
#include "kernels/common/mlp/tile_blocks.h"
#include "kernels/common/scratch.h"
#include "reference/mlp_narrow_fwd/mlp_narrow_fwd.h"

namespace klab {
namespace {

using namespace mlp_bf16;
using namespace mlp_tiles;

#include "kernels/common/mlp/10_amx_tiles-inl.h"

#include "kernels/common/mlp/10_amx_tiles_network-inl.h"

void run(const MlpNarrowFwd::Args<float>& x) {
  static thread_local Scratch scratch;
  const MlpFwd::Shape s = x.shape.network();
  float* const weights = scratch.floats(s.weights());
  widen_weights(x, weights);
  infer(s, weights, x.x, x.y);
}

std::string supported(const MlpNarrowFwd::Shape&, const Host&) { return why_no_tiles(); }

KLAB_VARIANT(MlpNarrowFwd, {.run = run,
                            .parent = "03_bfloat16",
                            .numerics = {.unit = Unit::bf16},
                            .expect = {.shape = {1 << 16, 32, 64, 2, 3, 1, 2}, .over_parent = 2.5},
                            .supported = supported});

}  // namespace
}  // namespace klab
