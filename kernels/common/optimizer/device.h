// Steps of optimizers in CUDA: one line of the formula a launch, all of it a launch, all tensors in one launch.
#pragma once

#include "kernels/common/cuda.h"
#include "kernels/common/optimizer/coefficients.h"

namespace klab {
namespace {

constexpr int kOptimizerThreads = 256;

namespace optimizer_numbers {
__device__ __forceinline__ float Set(int, float x) { return x; }
__device__ __forceinline__ float Add(float a, float b) { return a + b; }
__device__ __forceinline__ float Sub(float a, float b) { return a - b; }
__device__ __forceinline__ float Mul(float a, float b) { return a * b; }
__device__ __forceinline__ float MulAdd(float a, float b, float c) { return a * b + c; }
__device__ __forceinline__ float Div(float a, float b) { return a / b; }
__device__ __forceinline__ float Sqrt(float a) { return sqrtf(a); }
#define KLAB_RULE __device__ __forceinline__
#include "kernels/common/optimizer/rules-inl.h"
#undef KLAB_RULE
}  // namespace optimizer_numbers

/// Whether the gradient that acts is another array than the gradient.
template <Optimizer kind>
constexpr bool kHasPenalty = kind != Optimizer::adamw;
template <Optimizer kind>
constexpr bool kHasM = kind != Optimizer::sgd;
template <Optimizer kind>
constexpr bool kHasV = kind == Optimizer::adamw || kind == Optimizer::nadam;

/// The coefficients of tensor t, worked out by one thread of the block. All threads call it.
template <Optimizer kind>
__device__ __forceinline__ OptimizerCoefficients block_coefficients(const OptimizerStep& x, int64_t t) {
  __shared__ OptimizerCoefficients k;
  if (threadIdx.x == 0) k = optimizer_coefficients<kind>(x, t);
  __syncthreads();
  return k;
}

/// One entry's step, everything in registers.
template <Optimizer kind>
__device__ __forceinline__ void optimizer_entry(const OptimizerCoefficients& k, float gradient, float& param,
                                                float& m, float& v) {
  const float g = optimizer_numbers::rule_gradient<kind>(0, k, gradient, param);
  if (kHasM<kind>) m = optimizer_numbers::rule_m<kind>(0, k, g, m);
  if (kHasV<kind>) v = optimizer_numbers::rule_v<kind>(0, k, g, v);
  param = optimizer_numbers::rule_param<kind>(0, k, g, param, m, v);
}

__global__ void __launch_bounds__(kOptimizerThreads) optimizer_count(int64_t tensors, int32_t* steps) {
  const int64_t t = int64_t(blockIdx.x) * kOptimizerThreads + threadIdx.x;
  if (t < tensors) ++steps[t];
}

inline void optimizer_count_steps(const OptimizerStep& x) {
  if (x.steps == nullptr) return;
  cuda::launch(optimizer_count, dim3(unsigned((x.tensors + kOptimizerThreads - 1) / kOptimizerThreads)),
               dim3(kOptimizerThreads), 0, x.tensors, x.steps);
}

/// Calls work(t, blocks) for each tensor that has entries: the number of blocks with one entry a thread.
void each_tensor(const OptimizerStep& x, auto&& work) {
  for (int64_t t = 0; t < x.tensors; ++t)
    if (const int64_t size = x.begin(t + 1) - x.begin(t); size > 0)
      work(t, dim3(unsigned((size + kOptimizerThreads - 1) / kOptimizerThreads)));
}

}  // namespace
}  // namespace klab
