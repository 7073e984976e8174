// wrong: no multiple of 16
// A part of a vector is used, but the vector is loaded.
__global__ void k(const float* x, float* y) {
  const float4 v = reinterpret_cast<const float4*>(x + 2)[threadIdx.x];  // found
  y[threadIdx.x] = v.x;
}
int main() {
  float *x, *y;
  cudaMalloc(&x, 1024);
  cudaMalloc(&y, 128);
  cudaMemset(x, 0, 1024);
  k<<<1, 32>>>(x, y);
  cudaDeviceSynchronize();
  cudaFree(x);
  cudaFree(y);
}
