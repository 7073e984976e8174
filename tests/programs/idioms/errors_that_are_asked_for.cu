// right
// Tries a launch that cannot work, asks for the error, and continues with less.
#include <cstdio>
__global__ void set(int* x) { x[threadIdx.x] = 1; }
int main() {
  int *x, h[1024], threads = 4096;
  cudaMalloc(&x, 4096);
  for (;; threads /= 2) {
    set<<<1, threads>>>(x);
    if (cudaGetLastError() == cudaSuccess) break;
  }
  if (cudaMemcpy(h, nullptr, 4, cudaMemcpyDeviceToHost) == cudaSuccess) return 4;
  (void)cudaGetLastError();
  cudaMemcpy(h, x, 4096, cudaMemcpyDeviceToHost);
  cudaFree(x);
  return threads == 1024 && h[1023] == 1 ? 0 : 3;
}
