// The part of bias_add_bwd.cuda.02_block_per_channel that 03_by_shape takes over as it is.

__global__ void __launch_bounds__(kThreads) positions(BiasAddBwd::Args<float> a) {
  __shared__ float part[kWarps];
  const int64_t j = blockIdx.x, c = a.shape.c;
  const auto hw = unsigned(a.shape.hw), N = unsigned(a.shape.n) * hw;
  float sum = 0;
  for (unsigned k = threadIdx.x; k < N; k += kThreads) sum += a.d_y[(k / hw * c + j) * hw + k % hw];
  for (int by = 16; by > 0; by /= 2) sum += __shfl_xor_sync(~0U, sum, by);
  if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = sum;
  __syncthreads();
  if (threadIdx.x > 0) return;
  sum = 0;
  for (int w = 0; w < kWarps; ++w) sum += part[w];
  a.d_bias[j] = sum;
}
