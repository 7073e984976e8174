// rmsnorm_bwd.cuda.01_two_kernels: rows by warps, columns by threads.
//
// CHANGE    a warp has a row and writes its d_x; then a thread has a column and walks down all rows for d_gamma.
// EXPECT    x and d_y cross the border three times, the last time with few threads.
// NUMERICS  32 strided partial sums and tree order along rows; one accumulator down a column.
#include "harness/core/registrar.h"
#include "kernels/common/cuda.h"
#include "reference/rmsnorm_bwd/rmsnorm_bwd.h"

namespace klab {
namespace {

constexpr int kThreads = 256, kWarps = kThreads / 32;

__device__ __forceinline__ float sum_of(float v) {
  for (int by = 16; by > 0; by /= 2) v += __shfl_xor_sync(~0U, v, by);
  return v;
}

#include "kernels/rmsnorm_bwd/cuda/01_two_kernels_rows-inl.h"

#include "kernels/rmsnorm_bwd/cuda/01_two_kernels_columns-inl.h"

void run(const RmsnormBwd::Args<float>& x) {
  const auto [n, c] = x.shape;
  if (n > 0)
    cuda::launch(rows, unsigned((n + kWarps - 1) / kWarps), kThreads, 0, n, c, x.x, x.gamma, x.rrms, x.d_y,
                 x.d_x);
  cuda::launch(columns, unsigned((c + kThreads - 1) / kThreads), kThreads, 0, n, c, x.x, x.rrms, x.d_y,
               x.d_gamma);
}

KLAB_VARIANT(RmsnormBwd, {.run = run, .forward = "01_warp_per_row", .tiles = {kWarps, 32}});

}  // namespace
}  // namespace klab
