// right
// flags: -std=c++17
// Thrust's algorithms on memory that cudaMalloc gave, between kernels.
#include <thrust/device_ptr.h>
#include <thrust/execution_policy.h>
#include <thrust/reduce.h>
#include <thrust/scan.h>
__global__ void fill(int* x) { x[threadIdx.x] = threadIdx.x; }
__global__ void add(const int* x, int* y) { y[threadIdx.x] += x[threadIdx.x]; }
int main() {
  int *x, *y, h[64];
  cudaMalloc(&x, sizeof h);
  cudaMalloc(&y, sizeof h);
  fill<<<1, 64>>>(x);
  thrust::inclusive_scan(thrust::device_pointer_cast(x), thrust::device_pointer_cast(x) + 64,
                         thrust::device_pointer_cast(y));
  add<<<1, 64>>>(x, y);
  const int all = thrust::reduce(thrust::device, y, y + 64);
  cudaMemcpy(h, y, sizeof h, cudaMemcpyDeviceToHost);
  cudaFree(x);
  cudaFree(y);
  return h[63] == 2016 + 63 && all == 43680 + 2016 ? 0 : 3;
}
