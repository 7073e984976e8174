// adamw_master.cuda.01_three_launches: unscale, step and cast, a kernel each.
//
// CHANGE    the naive kernels, as three functions of a library: the gradient without its scale goes through
//           memory.
// EXPECT    42 bytes an entry where 30 would do, and three launches.
// NUMERICS  float; terms of the step count in double.
// NEEDS     4 bytes of scratch an entry.
#include "harness/core/registrar.h"
#include "kernels/common/cuda.h"
#include "reference/adamw_master/adamw_master.h"

namespace klab {
namespace {

constexpr int kThreads = 256;

__device__ __forceinline__ int64_t entry() { return int64_t(blockIdx.x) * kThreads + threadIdx.x; }

__global__ void __launch_bounds__(kThreads)
    unscale(int64_t n, const float* __restrict__ scale, const float* __restrict__ gradient,
            float* __restrict__ g) {
  if (entry() < n) g[entry()] = gradient[entry()] / *scale;
}

__global__ void __launch_bounds__(kThreads)
    step(int64_t n, const float* __restrict__ h, const int32_t* __restrict__ first,
         const float* __restrict__ g, float* __restrict__ master, float* __restrict__ m,
         float* __restrict__ v, const int32_t* __restrict__ steps) {
  using namespace optimizer;
  const int64_t i = entry();
  if (i >= n || *first != AdamwMaster::kAllFinite) return;
  const int count = *steps + 1;
  const float correct1 = float(1 - pow(double(h[beta1]), double(count)));
  const float correct2 = float(1 - pow(double(h[beta2]), double(count)));
  m[i] = h[beta1] * m[i] + (1 - h[beta1]) * g[i];
  v[i] = h[beta2] * v[i] + (1 - h[beta2]) * g[i] * g[i];
  master[i] = (1 - h[rate] * h[decay]) * master[i] -
              h[rate] * (m[i] / correct1) / (sqrtf(v[i] / correct2) + h[epsilon]);
}

__global__ void __launch_bounds__(kThreads)
    cast(int64_t n, const int32_t* __restrict__ first, const float* __restrict__ master,
         int32_t* __restrict__ steps, __nv_bfloat16* __restrict__ weight) {
  const int64_t i = entry();
  if (i == 0 && *first == AdamwMaster::kAllFinite) ++*steps;
  if (i < n) weight[i] = __float2bfloat16(master[i]);
}

void run(const AdamwMaster::Args<float>& x) {
  const int64_t n = x.shape.n;
  const dim3 blocks(unsigned((n + kThreads - 1) / kThreads)), threads(kThreads), one(1);
  if (n > 0) {
    cuda::Scratch scratch(size_t(n) * sizeof(float));
    cuda::launch(unscale, blocks, threads, 0, n, x.scale, x.gradient, scratch.as<float>());
    cuda::launch(step, blocks, threads, 0, n, x.hyper, x.first, scratch.as<float>(), x.master, x.m, x.v,
                 x.steps);
  }
  cuda::launch(cast, n > 0 ? blocks : one, threads, 0, n, x.first, x.master, x.steps,
               reinterpret_cast<__nv_bfloat16*>(x.weight));
}

KLAB_VARIANT(AdamwMaster, {.run = run, .tiles = {kThreads}});

}  // namespace
}  // namespace klab
