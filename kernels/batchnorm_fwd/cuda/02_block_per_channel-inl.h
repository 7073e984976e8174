// The part of batchnorm_fwd.cuda.02_block_per_channel that 03_columns takes over as it is.

/// Returns the sum over all threads, in each of them. `part` is shared, and a different array at each call:
/// otherwise the second call would overwrite values that the first still reads.
__device__ __forceinline__ float sum_of(float v, float (&part)[kWarps]) {
  for (int by = 16; by > 0; by /= 2) v += __shfl_xor_sync(~0U, v, by);
  if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = v;
  __syncthreads();
  float sum = 0;
  for (int w = 0; w < kWarps; ++w) sum += part[w];
  return sum;
}

/// Position of the k-th number of channel j.
__device__ __forceinline__ int64_t at(unsigned k, int64_t j, int64_t c, unsigned hw) {
  return (k / hw * c + j) * hw + k % hw;
}

__global__ void __launch_bounds__(kThreads) normalize(BatchnormFwd::Args<float> a) {
  __shared__ float part[2][kWarps];
  const int64_t j = blockIdx.x, c = a.shape.c;
  const auto hw = unsigned(a.shape.hw), N = unsigned(a.shape.n) * hw;
  float sum = 0, squares = 0;
  for (unsigned k = threadIdx.x; k < N; k += kThreads) sum += a.x[at(k, j, c, hw)];
  const float mean = sum_of(sum, part[0]) / float(N);
  for (unsigned k = threadIdx.x; k < N; k += kThreads) {
    const float deviation = a.x[at(k, j, c, hw)] - mean;
    squares += deviation * deviation;
  }
  const float variance = sum_of(squares, part[1]) / float(N), rstd = 1 / sqrtf(variance + *a.epsilon);
  const float gamma = a.gamma[j], beta = a.beta[j];
  for (unsigned k = threadIdx.x; k < N; k += kThreads) {
    const int64_t p = at(k, j, c, hw);
    a.y[p] = gamma * ((a.x[p] - mean) * rstd) + beta;
  }
  if (threadIdx.x > 0) return;
  a.mean[j] = mean;
  a.rstd[j] = rstd;
  const float unbiased = N > 1 ? float(N) / float(N - 1) : 1;
  a.running_mean[j] += *a.momentum * (mean - a.running_mean[j]);
  a.running_var[j] += *a.momentum * (unbiased * variance - a.running_var[j]);
}
