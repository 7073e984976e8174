// wrong: race on global memory
// A block passes a number to the next one by a flag, but does not fence before it.
__device__ unsigned tickets;
__global__ void chain(volatile int* done, int* y) {
  if (threadIdx.x != 0) return;
  const int b = int(atomicAdd(&tickets, 1));
  int before = 0;
  if (b > 0) {
    while (done[b - 1] == 0) {
    }
    __threadfence();
    before = y[b - 1];  // found
  }
  y[b] = before + b;
  done[b] = 1;
}
int main() {
  int *done, *y;
  cudaMalloc(&done, 256);
  cudaMalloc(&y, 256);
  cudaMemset(done, 0, 256);
  chain<<<16, 32>>>(done, y);
  cudaDeviceSynchronize();
  cudaFree(done);
  cudaFree(y);
}
