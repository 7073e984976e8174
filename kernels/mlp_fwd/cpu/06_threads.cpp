// mlp_fwd.cpu.06_threads: tiles shared out among the cores.
//
// CHANGE    each thread takes one contiguous run of tiles; buffers and packed weights are its own.
// EXPECT    close to the number of cores: tiles share nothing but the weights, and memory is far from its
//           limit.
// NUMERICS  as the parent: the same sums, so the same bits whatever the number of threads.
// NEEDS     as the parent, for each thread.
#include <omp.h>

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
constexpr int64_t kShare = 64;  // threads begin at multiples of the tile

void run(const MlpFwd::Args<float>& x) {
  const int64_t n = x.shape.n, tiles = (n + kShare - 1) / kShare;
#pragma omp parallel
  {
    const int64_t team = omp_get_num_threads(), me = omp_get_thread_num();
    const int64_t begin = tiles * me / team * kShare, end = std::min(n, tiles * (me + 1) / team * kShare);
    if (begin < end) HWY_DYNAMIC_DISPATCH(network)(x.shape, x.weights, x.x, x.y, begin, end);
  }
}

KLAB_VARIANT(MlpFwd, {.run = run,
                      .parent = "04_fused_tile",
                      .expect = {.shape = {1 << 18, 32, 64, 2, 3, 1}, .over_parent = 1.6}});
KLAB_SIMD_CLOSE();
#endif
