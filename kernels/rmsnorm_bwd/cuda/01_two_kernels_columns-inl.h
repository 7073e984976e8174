// The part of rmsnorm_bwd.cuda.01_two_kernels that 02_one_reading and 03_warp_keeps take over as it is.

__global__ void __launch_bounds__(kThreads)
    columns(int64_t n, int64_t c, const float* __restrict__ x, const float* __restrict__ rrms_of,
            const float* __restrict__ d_y, float* __restrict__ d_gamma) {
  const int64_t j = int64_t(blockIdx.x) * kThreads + threadIdx.x;
  if (j >= c) return;
  float gamma = 0;
  for (int64_t i = 0; i < n; ++i) gamma += d_y[i * c + j] * (x[i * c + j] * rrms_of[i]);
  d_gamma[j] = gamma;
}
