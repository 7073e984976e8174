// dropout_bwd.cuda.02_four_each: a block of the generator for a thread.
//
// CHANGE    a thread has four neighbors, which are one block of the generator, and loads and stores them at once.
// EXPECT    a quarter of the rounds and of the requests: three times at least, and near the copy bandwidth.
// NUMERICS  as the parent, bit for bit.
// NEEDS     arrays that begin at multiples of 16 bytes; others go by single elements.
// SASS      LDG.128 STG.128; no LDL STL
#include "harness/core/registrar.h"
#include "kernels/common/cuda.h"
#include "kernels/common/philox.h"
#include "reference/dropout_bwd/dropout_bwd.h"

namespace klab {
namespace {

constexpr int kThreads = 256;

__global__ void __launch_bounds__(kThreads) drop(DropoutBwd::Args<float> a, bool fours) {
  const int64_t block = int64_t(blockIdx.x) * kThreads + threadIdx.x, i = 4 * block;
  if (i >= a.shape.n) return;
  const PhiloxWords random = philox(uint64_t(block), a.seed, a.offset);
  const uint32_t threshold = dropout_threshold(*a.p);
  const float scale = 1 / (1 - *a.p);
  if (fours && i + 4 <= a.shape.n) {
    const float4 x = *reinterpret_cast<const float4*>(a.d_y + i);
    *reinterpret_cast<float4*>(a.d_x + i) =
        make_float4(random.w[0] >= threshold ? x.x * scale : 0, random.w[1] >= threshold ? x.y * scale : 0,
                    random.w[2] >= threshold ? x.z * scale : 0, random.w[3] >= threshold ? x.w * scale : 0);
    return;
  }
#pragma unroll
  for (int k = 0; k < 4; ++k)
    if (i + k < a.shape.n) a.d_x[i + k] = random.w[k] >= threshold ? a.d_y[i + k] * scale : 0;
}

void run(const DropoutBwd::Args<float>& x) {
  const int64_t blocks = (x.shape.n + 3) / 4;
  if (blocks == 0) return;
  cuda::launch(drop, unsigned((blocks + kThreads - 1) / kThreads), kThreads, 0, x,
               cuda::aligned(x.d_y) && cuda::aligned(x.d_x));
}

KLAB_VARIANT(DropoutBwd, {.run = run,
                          .parent = "01_one_each",
                          .forward = "02_four_each",
                          .tiles = {4, 4 * kThreads},
                          .expect = {.shape = {1 << 23}, .over_parent = 2}});

}  // namespace
}  // namespace klab
