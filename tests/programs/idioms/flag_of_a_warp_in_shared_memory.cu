// right
// A warp tells another one by a flag in shared memory that its numbers are there: lanes meet, one fences and sets the flag.
__global__ void k(const int* x, int* y) {
  __shared__ int s[32], ready;
  const int t = threadIdx.x;
  if (t == 0) ready = 0;
  __syncthreads();
  if (t < 32) {
    s[t] = 2 * x[t];
    __syncwarp();
    if (t == 0) {
      __threadfence_block();
      atomicExch(&ready, 1);
    }
  } else {
    while (atomicAdd(&ready, 0) == 0) {
    }
    __threadfence_block();
    y[t - 32] = s[63 - t];
  }
}
int main() {
  int h[32], *x, *y;
  for (int k = 0; k < 32; ++k) h[k] = k;
  cudaMalloc(&x, sizeof h);
  cudaMalloc(&y, sizeof h);
  cudaMemcpy(x, h, sizeof h, cudaMemcpyHostToDevice);
  k<<<1, 64>>>(x, y);
  cudaMemcpy(h, y, sizeof h, cudaMemcpyDeviceToHost);
  cudaFree(x);
  cudaFree(y);
  return h[0] == 62 && h[31] == 0 ? 0 : 3;
}
