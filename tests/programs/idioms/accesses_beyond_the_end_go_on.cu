// wrong: past the end of cudaMalloc
// Loads find zeros and stores are dropped, one by one, in structures, by atomics and in shared memory. What follows is as
// if they had not been.
#include <cstdio>
struct Triple {
  float a, b, c;
};
__global__ void shift(const Triple* from, Triple* to, int n) {
  __shared__ int ahead[32];
  __shared__ int kept[4];
  const int i = threadIdx.x;
  if (i < 4) kept[i] = i;
  ahead[i + 1] = i;
  __syncthreads();
  to[i] = from[i + 1];  // found
  if (i == n - 1) to[n + 5000] = from[0];
  if (i > 0) to[i].b = float(ahead[i] + kept[i % 4]);
}
__global__ void count(int* sum, int far) { atomicAdd(sum + (threadIdx.x < 30 ? 0 : far), 1); }
int main() {
  const int n = 32;
  Triple h[n], *x, *y;
  int counted = 0, *sum;
  for (int i = 0; i < n; ++i) h[i] = {float(i), float(i), float(i)};
  cudaMalloc(&x, sizeof h), cudaMalloc(&y, sizeof h), cudaMalloc(&sum, sizeof(int));
  cudaMemcpy(x, h, sizeof h, cudaMemcpyHostToDevice);
  cudaMemset(sum, 0, sizeof(int));
  shift<<<1, n>>>(x, y, n);
  count<<<1, n>>>(sum, 123456);
  if (cudaDeviceSynchronize() != cudaSuccess) return 3;
  cudaMemcpy(h, y, sizeof h, cudaMemcpyDeviceToHost);
  cudaMemcpy(&counted, sum, sizeof(int), cudaMemcpyDeviceToHost);
  cudaFree(x), cudaFree(y), cudaFree(sum);
  for (int i = 0; i < n; ++i)
    if (h[i].a != float(i + 1 < n ? i + 1 : 0) || (i > 0 && h[i].b != float(i - 1 + i % 4))) return 4;
  return counted == 30 ? 0 : 5;
}
