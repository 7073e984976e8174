// mlp_fwd.cpu.04_fused_tile: a tile of samples passes through the whole network before the next one begins.
//
// CHANGE    64 samples are copied into a contiguous tile [in][64], go through every layer between two such
//           tiles, and only the outputs are written. A tile of 64 units is 16 KB: activations never leave
//           the chip, and its rows are 256 bytes apart, not n floats.
// EXPECT    the parent's arithmetic without its traffic: 4·(in + out) bytes per sample in place of those plus
//           8·width a hidden layer. Close to the arithmetic peak.
// NUMERICS  as the parent: the same sums, so the same bits.
// NEEDS     two tiles and a copy of the weights; nothing that grows with n.
// TRIED     see NOTES.md, cpu.04_fused_tile
#include <algorithm>

#include "harness/core/registrar.h"
#include "kernels/common/simd.h"
#include "reference/mlp_fwd/mlp_fwd.h"

#include "hwy/aligned_allocator.h"
#include "hwy/contrib/math/math-inl.h"

KLAB_SIMD_BEGIN();

#include "kernels/common/mlp/04_fused_tile-inl.h"

#include "kernels/common/mlp/04_fused_tile_network-inl.h"

KLAB_SIMD_ONCE(network);

#if HWY_ONCE
void run(const MlpFwd::Args<float>& x) {
  HWY_DYNAMIC_DISPATCH(network)(x.shape, x.weights, x.x, x.y, 0, x.shape.n);
}

KLAB_VARIANT(MlpFwd, {.run = run,
                      .parent = "03_simd_tile",
                      .expect = {.shape = {1 << 18, 32, 64, 2, 3, 1}, .over_parent = 1.3},
                      .was = {"05_bfloat16"}});
KLAB_SIMD_CLOSE();
#endif
