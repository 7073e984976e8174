// wrong: of __device__ table, which was never written
// Half of what a copy brings into a variable of the device was never written.
__device__ float table[64];
__global__ void k(float* y) {
  y[threadIdx.x] = 2 * table[threadIdx.x];  // found
}
int main() {
  float *x, *y;
  cudaMalloc(&x, 256);
  cudaMalloc(&y, 256);
  cudaMemset(x, 0, 128);
  cudaMemcpyToSymbol(table, x, 256, 0, cudaMemcpyDeviceToDevice);
  k<<<1, 64>>>(y);
  cudaDeviceSynchronize();
  cudaFree(x);
  cudaFree(y);
}
