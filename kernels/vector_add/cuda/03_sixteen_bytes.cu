// vector_add.cuda.03_sixteen_bytes: four floats an instruction.
//
// CHANGE    float4 loads and stores: a quarter of the instructions for the same bytes.
// EXPECT    16 sectors/request in place of 4, and a quarter of the requests: the same sectors. Memory is
//           the limit either way, so little where many warps run; more where few do, since each has four
//           times the bytes in flight.
// NUMERICS  as the parent: the same additions, so the same bits.
// NEEDS     tensors that begin on 16 bytes, as cudaMalloc returns them; others go one float at a time.
// SASS      LDG.128 STG.128; no LDL STL
#include "harness/core/registrar.h"
#include "kernels/common/cuda.h"
#include "reference/vector_add/vector_add.h"

namespace klab {
namespace {

constexpr int kThreads = 256;
constexpr int kBlocksEach = 8;

__global__ void __launch_bounds__(kThreads) add(const float* __restrict__ a, const float* __restrict__ b,
                                                float* __restrict__ c, int64_t n, int64_t fours) {
  const int64_t stride = int64_t(gridDim.x) * kThreads, first = int64_t(blockIdx.x) * kThreads + threadIdx.x;
  for (int64_t i = first; i < fours; i += stride) {
    const float4 x = reinterpret_cast<const float4*>(a)[i], y = reinterpret_cast<const float4*>(b)[i];
    reinterpret_cast<float4*>(c)[i] = make_float4(x.x + y.x, x.y + y.y, x.z + y.z, x.w + y.w);
  }
  // At most three are left, or all.
  for (int64_t i = 4 * fours + first; i < n; i += stride) c[i] = a[i] + b[i];
}

void run(const VectorAdd::Args<float>& x) {
  const int64_t n = x.shape.n;
  if (n == 0) return;
  const int64_t fours = cuda::aligned(x.a) && cuda::aligned(x.b) && cuda::aligned(x.c) ? n / 4 : 0;
  const int64_t each = 4 * kThreads, wanted = (n + each - 1) / each;
  const int64_t held = cuda::device().multiprocessors * kBlocksEach;
  cuda::launch(add, unsigned(wanted < held ? wanted : held), kThreads, 0, x.a, x.b, x.c, n, fours);
}

KLAB_VARIANT(VectorAdd, {.run = run,
                         .parent = "02_grid_stride",
                         .tiles = {4, 128, 4 * kThreads},
                         .expect = {.shape = {1 << 25}, .over_parent = 1}});

}  // namespace
}  // namespace klab
