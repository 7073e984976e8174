// right
// flags: -rdc=true
// A template sorts by launching itself for both parts; the last launch of the first thread comes behind all others.
#include <cstdio>
template <class T>
__device__ int partition(T* x, int n) {
  const T pivot = x[n - 1];
  int smaller = 0;
  for (int k = 0; k < n - 1; ++k)
    if (x[k] < pivot) {
      const T t = x[k];
      x[k] = x[smaller];
      x[smaller++] = t;
    }
  x[n - 1] = x[smaller];
  x[smaller] = pivot;
  return smaller;
}
template <class T>
__global__ void sort(T* x, int n) {
  if (n < 2) return;
  const int middle = partition(x, n);
  sort<<<1, 1>>>(x, middle);
  sort<T><<<1, 1, 0, cudaStreamFireAndForget>>>(x + middle + 1, n - middle - 1);
}
__global__ void count_unsorted(const int* x, int n, int* wrong) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i + 1 < n && x[i] > x[i + 1]) atomicAdd(wrong, 1);
}
__global__ void sort_and_check(int* x, int n, int* wrong) {
  count_unsorted<<<(n + 31) / 32, 32, 0, cudaStreamTailLaunch>>>(x, n, wrong);
  sort<<<1, 1>>>(x, n);
}
int main() {
  int h[60], *x, *wrong, result = 1;
  for (int k = 0; k < 60; ++k) h[k] = k * 37 % 61;
  cudaMalloc(&x, sizeof h);
  cudaMalloc(&wrong, 4);
  cudaMemcpy(x, h, sizeof h, cudaMemcpyHostToDevice);
  cudaMemset(wrong, 0, 4);
  sort_and_check<<<1, 1>>>(x, 60, wrong);
  cudaMemcpy(&result, wrong, 4, cudaMemcpyDeviceToHost);
  cudaFree(x);
  cudaFree(wrong);
  return result == 0 ? 0 : 3;
}
