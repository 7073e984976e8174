// The part of rmsnorm_bwd.cuda.01_two_kernels that 02_one_reading takes over as it is.

/// Warp r has row r.
__global__ void __launch_bounds__(kThreads)
    rows(int64_t n, int64_t c, const float* __restrict__ x, const float* __restrict__ gamma,
         const float* __restrict__ rrms_of, const float* __restrict__ d_y, float* __restrict__ d_x) {
  const int64_t i = (int64_t(blockIdx.x) * kThreads + threadIdx.x) / 32;
  if (i >= n) return;  // all lanes of the warp
  const int lane = int(threadIdx.x) % 32;
  const float rrms = rrms_of[i];
  float product = 0;
  for (int64_t j = lane; j < c; j += 32) product += d_y[i * c + j] * gamma[j] * (x[i * c + j] * rrms);
  product = sum_of(product) / float(c);
  for (int64_t j = lane; j < c; j += 32)
    d_x[i * c + j] = rrms * (d_y[i * c + j] * gamma[j] - x[i * c + j] * rrms * product);
}
