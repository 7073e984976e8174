// layernorm_fwd.cuda.02_warp_per_row: no talking between warps.
//
// CHANGE    a warp has a row, eight rows per block; its 32 partial sums become one by five shuffles, in all lanes. Shared
//           memory and barriers are gone.
// EXPECT    no barrier where there were 18 a row; as many requests. At a thousand features a lane adds up 32 of them and
//           then talks for five steps, twice: several times the parent. For few long rows it is the wrong way round.
// NUMERICS  two passes; 32 strided partial sums, then tree order.
#include "harness/core/registrar.h"
#include "kernels/common/cuda.h"
#include "reference/layernorm_fwd/layernorm_fwd.h"

namespace klab {
namespace {

constexpr int kThreads = 256, kWarps = kThreads / 32;

/// Over all lanes, in all lanes.
__device__ __forceinline__ float sum_of(float v) {
  for (int by = 16; by > 0; by /= 2) v += __shfl_xor_sync(~0U, v, by);
  return v;
}

#include "kernels/common/rows/02_warp_per_row-inl.h"

void run(const LayernormFwd::Args<float>& x) {
  const auto [n, c] = x.shape;
  if (n == 0) return;
  cuda::launch(normalize, unsigned((n + kWarps - 1) / kWarps), kThreads, 0, n, c, x.x, x.gamma, x.beta,
               x.epsilon, x.y, x.mean, x.rstd);
}

KLAB_VARIANT(LayernormFwd, {.run = run,
                            .parent = "01_block_per_row",
                            .tiles = {kWarps, 32},
                            .expect = {.shape = {8192, 1024}, .over_parent = 1.5}});

}  // namespace
}  // namespace klab
