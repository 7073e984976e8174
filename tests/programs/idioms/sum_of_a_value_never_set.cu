// wrong: uninitialized memory
// Some threads compute with a value that only others have set, and a neighbor reads the result.
__global__ void neighbors(const float* x, float* y, int n) {
  __shared__ float s[64];
  float mine;
  if (threadIdx.x < n) mine = x[threadIdx.x];
  const float scaled = 2.0f * mine + 1.0f;
  s[threadIdx.x] = sqrtf(scaled);
  __syncthreads();
  y[threadIdx.x] = s[threadIdx.x ^ 1];  // found
}
int main() {
  float *x, *y;
  cudaMalloc(&x, 256);
  cudaMalloc(&y, 256);
  cudaMemset(x, 0, 256);
  neighbors<<<1, 64>>>(x, y, 63);
  cudaDeviceSynchronize();
  cudaFree(x);
  cudaFree(y);
}
