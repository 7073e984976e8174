// The part of layernorm_fwd.cuda.02_warp_per_row that layernorm_residual_fwd.cuda.01_two_launches takes over as it is.

/// Warp r has row r.
__global__ void __launch_bounds__(kThreads)
    normalize(int64_t n, int64_t c, const float* __restrict__ x, const float* __restrict__ gamma,
              const float* __restrict__ beta, const float* __restrict__ epsilon, float* __restrict__ y,
              float* __restrict__ mean_of, float* __restrict__ rstd_of) {
  const int64_t i = (int64_t(blockIdx.x) * kThreads + threadIdx.x) / 32;
  if (i >= n) return;  // all lanes of the warp
  const int lane = int(threadIdx.x) % 32;
  const float* row = x + i * c;
  float sum = 0, squares = 0;
  for (int64_t j = lane; j < c; j += 32) sum += row[j];
  const float mean = sum_of(sum) / float(c);
  for (int64_t j = lane; j < c; j += 32) squares += (row[j] - mean) * (row[j] - mean);
  const float rstd = 1 / sqrtf(sum_of(squares) / float(c) + *epsilon);
  for (int64_t j = lane; j < c; j += 32) y[i * c + j] = gamma[j] * ((row[j] - mean) * rstd) + beta[j];
  if (lane == 0) {
    mean_of[i] = mean;
    rstd_of[i] = rstd;
  }
}
