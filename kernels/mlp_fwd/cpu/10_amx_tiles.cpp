// mlp_fwd.cpu.10_amx_tiles: a layer's products by the processor's matrix unit.
//
// CHANGE    TDPBF16PS multiplies 16 units x 32 channels by 32 channels x 16 samples. The parent's pairs of channels are the right factor
//           as they lie; rows of W, with zeros up to whole tiles, are the left one. A block of 2 x 2 tiles of sums goes to memory as
//           floats, and from there to the next layer as pairs.
// EXPECT    the color network has 56 products of tiles for 64 samples, at 16 cycles each: 14 cycles a sample. In the parent it is 198
//           instructions, one a cycle on a processor that has tiles. Sums of two hidden layers are stored, loaded, rounded and
//           interleaved, four instructions for each 16 numbers and layer: another 20 cycles, some of which overlap with products. 140
//           bytes a sample are 35 cycles at 4 bytes a cycle. At least 3 times the parent.
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
#include "reference/mlp_fwd/mlp_fwd.h"

namespace klab {
namespace {

using namespace mlp_bf16;
using namespace mlp_tiles;

#include "kernels/common/mlp/10_amx_tiles-inl.h"

#include "kernels/common/mlp/10_amx_tiles_network-inl.h"

void run(const MlpFwd::Args<float>& x) { infer(x.shape, x.weights, x.x, x.y); }

std::string supported(const MlpFwd::Shape&, const Host&) { return why_no_tiles(); }

KLAB_VARIANT(MlpFwd, {.run = run,
                      .parent = "08_bfloat16",
                      .numerics = {.unit = Unit::bf16},
                      .expect = {.shape = {1 << 18, 32, 64, 2, 3, 1}, .over_parent = 3},
                      .supported = supported});

}  // namespace
}  // namespace klab
