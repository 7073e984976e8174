// adam.cuda.01_launch_per_tensor: a launch for each line of the formula.
//
// CHANGE    as a library of tensor operations would run it: one launch finds the groups with a gradient and
//           counts their steps, then one updates m, one v, one the parameters, one thread per entry.
// EXPECT    coalesced, but gradients and parameters are read three times, m and v twice: 52 bytes per entry
//           instead of 28, so little more than half of the bandwidth. Two powers in double for each entry. A
//           matrix is one group, and one thread scans all of it.
// NUMERICS  float; the bias corrections in double, because 1 - beta^step cancels for small steps.
// NEEDS     scratch of 4 bytes per group.
#include "harness/core/registrar.h"
#include "kernels/common/cuda.h"
#include "reference/adam/adam.h"

namespace klab {
namespace {

constexpr int kThreads = 256;

__global__ void __launch_bounds__(kThreads)
    find_live(int64_t n, int64_t group, int64_t groups, const float* __restrict__ gradient,
              int* __restrict__ live, int32_t* __restrict__ steps) {
  const int64_t j = int64_t(blockIdx.x) * kThreads + threadIdx.x;
  if (j >= groups) return;
  bool any = false;
  for (int64_t i = j * group, end = min(n, i + group); i < end; ++i) any = any || gradient[i] != 0;
  live[j] = any;
  if (any) ++steps[j];
}

__global__ void __launch_bounds__(kThreads)
    update_m(int64_t n, int64_t group, const int* __restrict__ live, const float* __restrict__ hyper,
             const float* __restrict__ gradient, const float* __restrict__ param, float* __restrict__ m) {
  const int64_t i = int64_t(blockIdx.x) * kThreads + threadIdx.x;
  if (i >= n || !live[i / group]) return;
  const float g = gradient[i] + hyper[Adam::l2] * param[i];
  m[i] = hyper[Adam::beta1] * m[i] + (1 - hyper[Adam::beta1]) * g;
}

__global__ void __launch_bounds__(kThreads)
    update_v(int64_t n, int64_t group, const int* __restrict__ live, const float* __restrict__ hyper,
             const float* __restrict__ gradient, const float* __restrict__ param, float* __restrict__ v) {
  const int64_t i = int64_t(blockIdx.x) * kThreads + threadIdx.x;
  if (i >= n || !live[i / group]) return;
  const float g = gradient[i] + hyper[Adam::l2] * param[i];
  v[i] = hyper[Adam::beta2] * v[i] + (1 - hyper[Adam::beta2]) * g * g;
}

/// 1 - beta^step; in double, because it cancels for small steps.
__device__ __forceinline__ float correction(float beta, int step) {
  return float(1 - pow(double(beta), double(step)));
}

__global__ void __launch_bounds__(kThreads)
    update_param(int64_t n, int64_t group, const int* __restrict__ live, const int32_t* __restrict__ steps,
                 const float* __restrict__ hyper, const float* __restrict__ m, const float* __restrict__ v,
                 float* __restrict__ param) {
  const int64_t i = int64_t(blockIdx.x) * kThreads + threadIdx.x;
  if (i >= n || !live[i / group]) return;
  const float correct1 = correction(hyper[Adam::beta1], steps[i / group]);
  const float correct2 = correction(hyper[Adam::beta2], steps[i / group]);
  param[i] -= hyper[Adam::rate] * (m[i] / correct1) / (sqrtf(v[i] / correct2) + hyper[Adam::epsilon]);
}

void run(const Adam::Args<float>& x) {
  const int64_t n = x.shape.n, group = x.shape.group, groups = Adam::groups(x.shape);
  if (n == 0) return;
  const dim3 entries(unsigned((n + kThreads - 1) / kThreads)), threads(kThreads);
  cuda::Scratch scratch(size_t(groups) * sizeof(int));
  int* live = scratch.as<int>();
  cuda::launch(find_live, dim3(unsigned((groups + kThreads - 1) / kThreads)), threads, 0, n, group, groups,
               x.gradient, live, x.steps);
  cuda::launch(update_m, entries, threads, 0, n, group, live, x.hyper, x.gradient, x.param, x.m);
  cuda::launch(update_v, entries, threads, 0, n, group, live, x.hyper, x.gradient, x.param, x.v);
  cuda::launch(update_param, entries, threads, 0, n, group, live, x.steps, x.hyper, x.m, x.v, x.param);
}

KLAB_VARIANT(Adam, {.run = run, .tiles = {kThreads}, .was = {"01_tensor_a_launch"}});

}  // namespace
}  // namespace klab
