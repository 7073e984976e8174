// wrong: never ends
__global__ void chain(volatile int* done, int* y) {
  if (threadIdx.x == 0) {
    if (blockIdx.x > 0)
      while (done[blockIdx.x - 1] == 0) {  // found
      }
    y[blockIdx.x] = blockIdx.x;
    __threadfence();
    done[blockIdx.x] = 1;
  }
}
int main() {
  int *done, *y;
  cudaMalloc(&done, 256);
  cudaMalloc(&y, 256);
  cudaMemset(done, 0, 256);
  chain<<<64, 32>>>(done, y);
  cudaDeviceSynchronize();
  cudaFree(done);
  cudaFree(y);
}
