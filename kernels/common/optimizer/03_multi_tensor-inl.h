// The part of adamw.cuda.03_multi_tensor that the same rung of momentum, nadam, nesterov and sgd takes over as it is, with their kRule and Args.

constexpr int64_t kStretch = 4 * kOptimizerThreads;

__device__ __forceinline__ void load_four(bool whole, const float* p, int64_t count, float (&v)[4]) {
  if (whole && count >= 4) {
    const float4 four = *reinterpret_cast<const float4*>(p);
    v[0] = four.x, v[1] = four.y, v[2] = four.z, v[3] = four.w;
    return;
  }
  for (int e = 0; e < 4; ++e) v[e] = e < count ? p[e] : 0;
}

__device__ __forceinline__ void store_four(bool whole, float* p, int64_t count, const float (&v)[4]) {
  if (whole && count >= 4) {
    *reinterpret_cast<float4*>(p) = make_float4(v[0], v[1], v[2], v[3]);
    return;
  }
  for (int e = 0; e < 4; ++e)
    if (e < count) p[e] = v[e];
}

/// Block b is stretch b % stretches of tensor b / stretches.
__global__ void __launch_bounds__(kOptimizerThreads) update(OptimizerStep x, int64_t stretches, bool whole) {
  const int64_t t = blockIdx.x / stretches;
  const OptimizerCoefficients k = block_coefficients<kRule>(x, t);
  const int64_t i = x.begin(t) + blockIdx.x % stretches * kStretch + 4 * int64_t(threadIdx.x);
  const int64_t count = x.begin(t + 1) - i;
  if (count <= 0) return;
  float gradient[4], param[4], m[4] = {}, v[4] = {};
  load_four(whole, x.gradient + i, count, gradient);
  load_four(whole, x.param + i, count, param);
  if (kHasM<kRule>) load_four(whole, x.m + i, count, m);
  if (kHasV<kRule>) load_four(whole, x.v + i, count, v);
#pragma unroll
  for (int e = 0; e < 4; ++e) optimizer_entry<kRule>(k, gradient[e], param[e], m[e], v[e]);
  store_four(whole, x.param + i, count, param);
  if (kHasM<kRule>) store_four(whole, x.m + i, count, m);
  if (kHasV<kRule>) store_four(whole, x.v + i, count, v);
}

void run(const Args& x) {
  const OptimizerStep step = optimizer_step(x);
  int64_t longest = 0;
  for (int64_t t = 0; t < step.tensors; ++t) longest = max(longest, step.begin(t + 1) - step.begin(t));
  const int64_t stretches = (longest + kStretch - 1) / kStretch;
  const bool whole =
      cuda::aligned(x.gradient) && cuda::aligned(x.param) && cuda::aligned(step.m) && cuda::aligned(step.v);
  if (stretches > 0)
    cuda::launch(update, dim3(unsigned(stretches * step.tensors)), dim3(kOptimizerThreads), 0, step,
                 stretches, whole);
  optimizer_count_steps(step);
}
