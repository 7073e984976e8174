// adamw_master.cuda.02_fused: everything about an entry while it is in registers.
//
// CHANGE    one launch for the three, and one of a single thread that counts. The two powers, in double, are one thread's
//           work in a block.
// EXPECT    30 bytes an entry in place of 42: 1.4 times the parent, and more where double is slow.
// NUMERICS  as the parent.
#include "harness/core/registrar.h"
#include "kernels/common/cuda.h"
#include "reference/adamw_master/adamw_master.h"

namespace klab {
namespace {

constexpr int kThreads = 256;

__global__ void __launch_bounds__(kThreads)
    update(int64_t n, const float* __restrict__ h, const float* __restrict__ scale,
           const int32_t* __restrict__ first, const float* __restrict__ gradient, float* __restrict__ master,
           float* __restrict__ m, float* __restrict__ v, const int32_t* __restrict__ steps,
           __nv_bfloat16* __restrict__ weight) {
  using namespace optimizer;
  __shared__ float correct[2];
  const bool finite = *first == AdamwMaster::kAllFinite;
  if (threadIdx.x < 2 && finite)
    correct[threadIdx.x] = float(1 - pow(double(threadIdx.x == 0 ? h[beta1] : h[beta2]), double(*steps + 1)));
  __syncthreads();
  const int64_t i = int64_t(blockIdx.x) * kThreads + threadIdx.x;
  if (i >= n) return;
  float parameter = master[i];
  if (finite) {
    const float g = gradient[i] / *scale;
    const float moment = h[beta1] * m[i] + (1 - h[beta1]) * g;
    const float square = h[beta2] * v[i] + (1 - h[beta2]) * g * g;
    parameter = (1 - h[rate] * h[decay]) * parameter -
                h[rate] * (moment / correct[0]) / (sqrtf(square / correct[1]) + h[epsilon]);
    m[i] = moment;
    v[i] = square;
    master[i] = parameter;
  }
  weight[i] = __float2bfloat16(parameter);
}

__global__ void count_step(const int32_t* __restrict__ first, int32_t* __restrict__ steps) {
  if (*first == AdamwMaster::kAllFinite) ++*steps;
}

void run(const AdamwMaster::Args<float>& x) {
  const int64_t n = x.shape.n;
  if (n > 0)
    cuda::launch(update, dim3(unsigned((n + kThreads - 1) / kThreads)), dim3(kThreads), 0, n, x.hyper,
                 x.scale, x.first, x.gradient, x.master, x.m, x.v, x.steps,
                 reinterpret_cast<__nv_bfloat16*>(x.weight));
  cuda::launch(count_step, dim3(1), dim3(1), 0, x.first, x.steps);
}

KLAB_VARIANT(AdamwMaster, {.run = run,
                           .parent = "01_three_launches",
                           .tiles = {kThreads},
                           .expect = {.shape = {1 << 22}, .over_parent = 1.2}});

}  // namespace
}  // namespace klab
