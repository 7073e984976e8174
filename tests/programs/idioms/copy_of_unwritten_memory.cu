// wrong: uninitialized memory in kernel
// A copy on the device keeps unwritten bytes unwritten.
__global__ void k(const int* x, int* y) {
  y[threadIdx.x] = x[threadIdx.x];  // found
}
int main() {
  int *a, *b, *y;
  cudaMalloc(&a, 128);
  cudaMalloc(&b, 128);
  cudaMalloc(&y, 128);
  cudaMemset(a, 0, 64);
  cudaMemcpy(b, a, 128, cudaMemcpyDeviceToDevice);
  k<<<1, 32>>>(b, y);
  cudaDeviceSynchronize();
  cudaFree(a);
  cudaFree(b);
  cudaFree(y);
}
