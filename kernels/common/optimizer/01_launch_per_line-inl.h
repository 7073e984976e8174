// The part of adamw.cuda.01_launch_per_line that the same rung of momentum, nadam, nesterov and sgd takes over as it is, with their kRule and Args.

__global__ void __launch_bounds__(kOptimizerThreads)
    update_gradient(OptimizerStep x, int64_t t, float* __restrict__ g) {
  const OptimizerCoefficients k = block_coefficients<kRule>(x, t);
  const int64_t i = x.begin(t) + int64_t(blockIdx.x) * kOptimizerThreads + threadIdx.x;
  if (i < x.begin(t + 1)) g[i] = optimizer_numbers::rule_gradient<kRule>(0, k, x.gradient[i], x.param[i]);
}

__global__ void __launch_bounds__(kOptimizerThreads)
    update_m(OptimizerStep x, int64_t t, const float* __restrict__ g) {
  const OptimizerCoefficients k = block_coefficients<kRule>(x, t);
  const int64_t i = x.begin(t) + int64_t(blockIdx.x) * kOptimizerThreads + threadIdx.x;
  if (i < x.begin(t + 1)) x.m[i] = optimizer_numbers::rule_m<kRule>(0, k, g[i], x.m[i]);
}

__global__ void __launch_bounds__(kOptimizerThreads)
    update_v(OptimizerStep x, int64_t t, const float* __restrict__ g) {
  const OptimizerCoefficients k = block_coefficients<kRule>(x, t);
  const int64_t i = x.begin(t) + int64_t(blockIdx.x) * kOptimizerThreads + threadIdx.x;
  if (i < x.begin(t + 1)) x.v[i] = optimizer_numbers::rule_v<kRule>(0, k, g[i], x.v[i]);
}

__global__ void __launch_bounds__(kOptimizerThreads)
    update_param(OptimizerStep x, int64_t t, const float* __restrict__ g) {
  const OptimizerCoefficients k = block_coefficients<kRule>(x, t);
  const int64_t i = x.begin(t) + int64_t(blockIdx.x) * kOptimizerThreads + threadIdx.x;
  if (i < x.begin(t + 1))
    x.param[i] = optimizer_numbers::rule_param<kRule>(0, k, g[i], x.param[i], kHasM<kRule> ? x.m[i] : 0.0F,
                                                      kHasV<kRule> ? x.v[i] : 0.0F);
}

/// Launches the lines that the rule has.
void run(const Args& x) {
  const OptimizerStep step = optimizer_step(x);
  cuda::Scratch scratch(kHasPenalty<kRule> ? size_t(step.n) * sizeof(float) : 0);
  const float* g = kHasPenalty<kRule> ? scratch.as<float>() : x.gradient;
  each_tensor(step, [&](int64_t t, dim3 blocks) {
    const dim3 threads(kOptimizerThreads);
    if (kHasPenalty<kRule>) cuda::launch(update_gradient, blocks, threads, 0, step, t, scratch.as<float>());
    if (kHasM<kRule>) cuda::launch(update_m, blocks, threads, 0, step, t, g);
    if (kHasV<kRule>) cuda::launch(update_v, blocks, threads, 0, step, t, g);
    cuda::launch(update_param, blocks, threads, 0, step, t, g);
  });
  optimizer_count_steps(step);
}
