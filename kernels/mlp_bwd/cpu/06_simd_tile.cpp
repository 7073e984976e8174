// mlp_bwd.cpu.06_simd_tile: a register tile in all three products, lanes that are weights.
//
// CHANGE    the gradient of the weights sums over samples, which are the lanes: the tile of activations is transposed
//           first, in registers, so that lanes are columns of d_weights. 6 rows by 4 vectors of sums stay in registers
//           over the tile, and nothing is summed across lanes.
// EXPECT    close to the arithmetic peak. A 64x64 layer's gradient is 16384 multiply-adds (16 lanes) for a tile, with a
//           load or a broadcast for every 2.4 of them; transposing the inputs adds 512 shuffles and 256 stores. In the
//           parent it was as many multiply-adds with two loads for each, and 4096 sums across lanes of some ten
//           instructions each. At least 1.5 times the parent.
// NUMERICS  float, multiply and add fused; a weight's gradient is one chain over all samples, added to
//           d_weights at the end.
// NEEDS     (hidden + 4) tiles, two copies of the weights and one of their gradients; nothing that grows
//           with n.
// TRIED     see NOTES.md, cpu.06_simd_tile
#include <algorithm>
#include <vector>

#include "harness/core/registrar.h"
#include "kernels/common/simd.h"
#include "reference/mlp_bwd/mlp_bwd.h"

#include "hwy/aligned_allocator.h"
#include "hwy/contrib/math/math-inl.h"
#include "kernels/common/transpose_block-inl.h"

KLAB_SIMD_BEGIN();

using Tag = hn::CappedTag<float, 16>;
using Vector = hn::Vec<Tag>;
constexpr int64_t kTile = 64;  // samples; a multiple of kVectors vectors of at most 16 lanes
constexpr int64_t kPad = 16;   // columns of a weight matrix are padded to a multiple: whole vectors
#include "kernels/mlp_bwd/cpu/05_register_tile-inl.h"

#include "kernels/mlp_bwd/cpu/04_simd-inl.h"

#include "kernels/mlp_bwd/cpu/06_simd_tile-inl.h"

#include "kernels/mlp_bwd/cpu/06_simd_tile_pass-inl.h"

void network(const MlpBwd::Args<float>& x) {
  const MlpBwd::Shape& s = x.shape;
  Work w(x);
  for (int64_t i = 0; i < s.n; i += kTile) tile(x, i, std::min(kTile, s.n - i), w);
  for (int64_t l = 0; l < s.layers(); ++l)
    for (int64_t r = 0; r < s.to(l); ++r)
      for (int64_t c = 0; c < s.from(l); ++c)
        x.d_weights[s.weight_begin(l) + r * s.from(l) + c] +=
            w.sums[w.layer_begin[size_t(l)] + r * padded(s.from(l)) + c];
}

KLAB_SIMD_ONCE(network);

#if HWY_ONCE
void run(const MlpBwd::Args<float>& x) { HWY_DYNAMIC_DISPATCH(network)(x); }

KLAB_VARIANT(MlpBwd, {.run = run,
                      .parent = "05_register_tile",
                      .forward = "04_fused_tile",
                      .expect = {.shape = {1 << 18, 32, 64, 2, 3, 1}, .over_parent = 1.5},
                      .was = {"04_simd_tile"}});
KLAB_SIMD_CLOSE();
#endif
