// The part of adamw.cuda.02_fused_step that the same rung of momentum, nadam, nesterov and sgd takes over as it is, with their kRule and Args.

__global__ void __launch_bounds__(kOptimizerThreads) update(OptimizerStep x, int64_t t) {
  const OptimizerCoefficients k = block_coefficients<kRule>(x, t);
  const int64_t i = x.begin(t) + int64_t(blockIdx.x) * kOptimizerThreads + threadIdx.x;
  if (i >= x.begin(t + 1)) return;
  float none = 0;
  optimizer_entry<kRule>(k, x.gradient[i], x.param[i], kHasM<kRule> ? x.m[i] : none,
                         kHasV<kRule> ? x.v[i] : none);
}

void run(const Args& x) {
  const OptimizerStep step = optimizer_step(x);
  each_tensor(step, [&](int64_t t, dim3 blocks) {
    cuda::launch(update, blocks, dim3(kOptimizerThreads), 0, step, t);
  });
  optimizer_count_steps(step);
}
