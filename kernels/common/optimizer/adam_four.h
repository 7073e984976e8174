// Adam's step of four neighboring entries a thread, in registers: 16-byte loads where their place allows it.
#pragma once

#include "kernels/common/cuda.h"
#include "reference/adam/adam.h"

namespace klab::adam_four {
namespace {

/// One entry's step, everything in registers.
__device__ __forceinline__ void step(const float* hyper, float correct1, float correct2, float gradient,
                                     float& param, float& m, float& v) {
  const float g = gradient + hyper[Adam::l2] * param;
  m = hyper[Adam::beta1] * m + (1 - hyper[Adam::beta1]) * g;
  v = hyper[Adam::beta2] * v + (1 - hyper[Adam::beta2]) * g * g;
  param -= hyper[Adam::rate] * (m / correct1) / (sqrtf(v / correct2) + hyper[Adam::epsilon]);
}

/// Logarithms of both betas, the same in all threads of the block. All threads call it.
struct Decay {
  double log1, log2;

  __device__ float correct1(int step) const { return -expm1f(float(log1 * step)); }
  __device__ float correct2(int step) const { return -expm1f(float(log2 * step)); }
};

__device__ __forceinline__ Decay decay_of(const float* __restrict__ hyper) {
  __shared__ double logs[2];
  if (threadIdx.x < 2) logs[threadIdx.x] = log(double(hyper[Adam::beta1 + threadIdx.x]));
  __syncthreads();
  return {logs[0], logs[1]};
}

/// Up to four floats from p on; fewer than four or a place that is not a multiple of 16 bytes one by one.
__device__ __forceinline__ void load(const float* p, bool whole, int64_t count, float (&v)[4]) {
  if (whole && count >= 4) {
    const float4 four = *reinterpret_cast<const float4*>(p);
    v[0] = four.x, v[1] = four.y, v[2] = four.z, v[3] = four.w;
    return;
  }
  for (int k = 0; k < 4; ++k) v[k] = k < count ? p[k] : 0;
}

__device__ __forceinline__ void store(float* p, bool whole, int64_t count, const float (&v)[4]) {
  if (whole && count >= 4) {
    *reinterpret_cast<float4*>(p) = make_float4(v[0], v[1], v[2], v[3]);
    return;
  }
  for (int k = 0; k < 4; ++k)
    if (k < count) p[k] = v[k];
}

/// The entries that a step changes.
struct State {
  float *param, *m, *v;
};

/// Entries i to i+3, as far as `count` goes; those of a group that does not live have corrections of 0 and stay.
__device__ __forceinline__ void update_four(const float* hyper, const State& state, int64_t i, bool whole,
                                            int64_t count, const float (&gradient)[4],
                                            const float (&correct1)[4], const float (&correct2)[4]) {
  float param[4], m[4], v[4];
  load(state.param + i, whole, count, param);
  load(state.m + i, whole, count, m);
  load(state.v + i, whole, count, v);
#pragma unroll
  for (int k = 0; k < 4; ++k)
    if (correct1[k] != 0) step(hyper, correct1[k], correct2[k], gradient[k], param[k], m[k], v[k]);
  store(state.param + i, whole, count, param);
  store(state.m + i, whole, count, m);
  store(state.v + i, whole, count, v);
}

}  // namespace
}  // namespace klab::adam_four
