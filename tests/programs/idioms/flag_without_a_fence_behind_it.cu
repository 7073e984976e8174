// wrong: no fence (__threadfence) lies between that and this access
// A warp waits for another one's flag in shared memory, and reads at once.
__global__ void k(int* y) {
  __shared__ int value;
  __shared__ volatile int ready;
  const int t = threadIdx.x;
  if (t == 0) ready = 0;
  __syncthreads();
  if (t == 0) {
    value = 42;
    __threadfence_block();
    ready = 1;
  } else if (t == 32) {
    while (ready == 0) {
    }
    y[0] = value;  // found
  }
}
int main() {
  int* y;
  cudaMalloc(&y, 4);
  k<<<1, 64>>>(y);
  cudaDeviceSynchronize();
  cudaFree(y);
}
