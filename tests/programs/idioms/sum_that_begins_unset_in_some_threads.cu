// wrong: uninitialized memory
// Only the first threads set what all of them store, and a neighbor reads it.
__global__ void neighbors(const float* x, float* y, int n) {
  __shared__ float s[64];
  float mine;
  if (threadIdx.x < n) mine = x[threadIdx.x];
  s[threadIdx.x] = mine;
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
