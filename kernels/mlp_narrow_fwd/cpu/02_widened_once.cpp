// mlp_narrow_fwd.cpu.02_widened_once: the weights become floats once a call, in a cache.
//
// CHANGE    a call widens all weights into an array that it keeps, and then multiplies floats: tiles of 64 samples go through all
//           layers, six units by four vectors of them in registers, and threads share tiles out.
// EXPECT    a network has some ten thousand weights and a call some hundred thousand samples: widening is nothing, and the rest is
//           mlp_fwd with floats. At least 8 times the parent.
// NUMERICS  float; a weight is rounded once where it is multiplied with its factor, sums are in order.
// NEEDS     an array of floats as large as one network while a call lasts, and a packed copy of it for each thread.
#include <algorithm>

#include "harness/core/registrar.h"
#include "kernels/common/scratch.h"
#include "kernels/common/simd.h"
#include "kernels/common/threads.h"
#include "reference/mlp_narrow_fwd/mlp_narrow_fwd.h"

#include "hwy/aligned_allocator.h"
#include "hwy/contrib/math/math-inl.h"

KLAB_SIMD_BEGIN();

#include "kernels/common/mlp/04_fused_tile-inl.h"

#include "kernels/common/mlp/04_fused_tile_network-inl.h"

KLAB_SIMD_ONCE(network);

#if HWY_ONCE
constexpr int64_t kShare = 64;  // threads begin at multiples of the tile

void run(const MlpNarrowFwd::Args<float>& x) {
  static thread_local Scratch scratch;
  float* const weights = scratch.floats(x.shape.weights());
  widen_weights(x, weights);
  const auto part = HWY_DYNAMIC_DISPATCH(network);
  parallel_ranges(x.shape.n, true, kShare, [&](int64_t begin, int64_t end) {
    if (begin < end) part(x.shape.network(), weights, x.x, x.y, begin, end);
  });
}

KLAB_VARIANT(MlpNarrowFwd, {.run = run,
                            .parent = "01_naive",
                            .tiles = {kShare},
                            .expect = {.shape = {1 << 16, 32, 64, 2, 3, 1, 2}, .over_parent = 8}});
KLAB_SIMD_CLOSE();
#endif
