// vector_add.cuda.02_grid_stride: as many blocks as the GPU holds, each strides over the array.
//
// CHANGE    the grid fits the GPU once; every thread takes elements a whole grid apart until none are left.
// EXPECT    no block is launched and retired for only 256 additions: a few percent for large n. Sectors/request
//           stay 4, because the lanes of a warp still stand side by side.
// NUMERICS  as the parent: the same additions, so the same bits.
#include "harness/core/registrar.h"
#include "kernels/common/cuda.h"
#include "reference/vector_add/vector_add.h"

namespace klab {
namespace {

constexpr int kThreads = 256;
constexpr int kBlocksEach = 8;  // 8 blocks of 256 threads are the 2048 threads that a multiprocessor holds

__global__ void __launch_bounds__(kThreads)
    add(const float* __restrict__ a, const float* __restrict__ b, float* __restrict__ c, int64_t n) {
  const int64_t stride = int64_t(gridDim.x) * kThreads;
  for (int64_t i = int64_t(blockIdx.x) * kThreads + threadIdx.x; i < n; i += stride) c[i] = a[i] + b[i];
}

void run(const VectorAdd::Args<float>& x) {
  const int64_t n = x.shape.n;
  if (n == 0) return;
  const int64_t wanted = (n + kThreads - 1) / kThreads, held = cuda::device().multiprocessors * kBlocksEach;
  cuda::launch(add, unsigned(wanted < held ? wanted : held), kThreads, 0, x.a, x.b, x.c, n);
}

KLAB_VARIANT(VectorAdd, {.run = run,
                         .parent = "01_one_each",
                         .tiles = {32, kThreads},
                         .expect = {.shape = {1 << 25}, .over_parent = 1}});

}  // namespace
}  // namespace klab
