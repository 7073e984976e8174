// wrong: which other lanes of warp 0 read at line 11 with no barrier between
// The thread that writes has read the word itself, in the same statement; the race is with the other read.
__global__ void sums(const float* x, float* y) {
  __shared__ float s[64];
  s[threadIdx.x] = x[threadIdx.x];
  __syncthreads();
  const float own = s[threadIdx.x];
  __syncthreads();
  if (threadIdx.x < 32)
    for (int d = 16; d > 0; d /= 2) {
      if (threadIdx.x < 32u) y[threadIdx.x] = s[threadIdx.x + d] + own;
      s[threadIdx.x] +=  // found
          y[threadIdx.x];
    }
}
int main() {
  float *x, *y;
  cudaMalloc(&x, 256), cudaMalloc(&y, 256);
  cudaMemset(x, 0, 256), cudaMemset(y, 0, 256);
  sums<<<1, 64>>>(x, y);
  cudaDeviceSynchronize();
  cudaFree(x), cudaFree(y);
}
