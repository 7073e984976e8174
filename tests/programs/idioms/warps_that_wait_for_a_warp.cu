// right
// Warps of a block wait for another warp that works for long: they wait, but not for ever.
__global__ void k(volatile int* ready, int* y, int rounds) {
  if (threadIdx.x == 0) {
    int x = 1;
    for (int r = 0; r < rounds; ++r) x = x * 1664525 + 1013904223;
    y[0] = x | 1;
    __threadfence();
    *ready = 1;
  } else if (threadIdx.x == 32) {
    while (*ready == 0) {
    }
    __threadfence();
    y[1] = 1;
  }
}
int main() {
  int *ready, *y, h[2];
  cudaMalloc(&ready, 4);
  cudaMalloc(&y, 8);
  cudaMemset(ready, 0, 4);
  k<<<1, 64>>>(ready, y, 10000000);
  cudaMemcpy(h, y, 8, cudaMemcpyDeviceToHost);
  cudaFree(ready);
  cudaFree(y);
  return h[1] == 1 ? 0 : 3;
}
