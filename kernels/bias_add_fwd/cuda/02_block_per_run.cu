// bias_add_fwd.cuda.02_block_per_run: one bias for a block, four numbers for a thread.
//
// CHANGE    a block has a channel of one example; its threads load and store four neighbors at once. Behind a matrix product
//           (hw = 1) a block has a row, and a thread's four numbers have four biases.
// EXPECT    no division, and a quarter of the requests: at least 1.5 times.
// NUMERICS  as the parent, bit for bit.
// NEEDS     runs of a multiple of four numbers and arrays that begin at multiples of 16 bytes; others go by single numbers.
// SASS      LDG.128 STG.128; no LDL STL
#include "harness/core/registrar.h"
#include "kernels/common/cuda.h"
#include "reference/bias_add_fwd/bias_add_fwd.h"

namespace klab {
namespace {

constexpr int kThreads = 256;

/// Run i, `length` numbers long: `bias` is one number, or as many where `of_each`.
__global__ void __launch_bounds__(kThreads)
    add(BiasAddFwd::Args<float> a, int64_t length, bool of_each, bool fours) {
  const int64_t i = blockIdx.x;
  const float *x = a.x + i * length, *bias = of_each ? a.bias : a.bias + i % a.shape.c;
  float* y = a.y + i * length;
  if (!fours) {
    for (int64_t k = threadIdx.x; k < length; k += blockDim.x) y[k] = x[k] + bias[of_each ? k : 0];
    return;
  }
  for (int64_t k = 4 * threadIdx.x; k < length; k += 4 * blockDim.x) {
    const float4 v = *reinterpret_cast<const float4*>(x + k);
    const float4 b =
        of_each ? *reinterpret_cast<const float4*>(bias + k) : make_float4(*bias, *bias, *bias, *bias);
    *reinterpret_cast<float4*>(y + k) = make_float4(v.x + b.x, v.y + b.y, v.z + b.z, v.w + b.w);
  }
}

void run(const BiasAddFwd::Args<float>& x) {
  const auto [n, c, hw] = x.shape;
  if (n * c * hw == 0) return;
  const bool of_each = hw == 1;
  const int64_t length = of_each ? c : hw;
  const bool fours =
      length % 4 == 0 && cuda::aligned(x.x) && cuda::aligned(x.y) && (!of_each || cuda::aligned(x.bias));
  const int64_t count = fours ? length / 4 : length;
  cuda::launch(add, unsigned(of_each ? n : n * c),
               count < kThreads ? unsigned((count + 31) / 32 * 32) : kThreads, 0, x, length, of_each, fours);
}

KLAB_VARIANT(BiasAddFwd, {.run = run,
                          .parent = "01_one_each",
                          .tiles = {4, kThreads},
                          .expect = {.shape = {8192, 1024, 1}, .over_parent = 1.5}});

}  // namespace
}  // namespace klab
