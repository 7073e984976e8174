// The part of mlp_bwd.cuda.04_mma_sync that 05_half and 06_fp8 take over as it is.

/// d_weights of layer l += the blocks' copies, in their order.
__global__ void __launch_bounds__(kThreads)
    add_copies(MlpLayers s, int64_t l, const float* __restrict__ copies, int64_t copy, int blocks,
               float* __restrict__ d_weights) {
  const int64_t e = int64_t(blockIdx.x) * kThreads + threadIdx.x, from = s.from(l);
  if (e >= from * s.to(l)) return;
  const int64_t at = mlp_whole_begin(s, l) + e / from * mlp_whole(from) + e % from;
  float sum = 0;
  for (int b = 0; b < blocks; ++b) sum += copies[b * copy + at];
  d_weights[s.weight_begin(l) + e] += sum;
}
