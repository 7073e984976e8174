// right
// flags: -std=c++17
// Thrust's algorithms with CUDA's policies, on a stream, between kernels.
#include <thrust/execution_policy.h>
#include <thrust/sort.h>
#include <thrust/system/cuda/execution_policy.h>
#include <thrust/transform_reduce.h>
__global__ void fill(int* x) { x[threadIdx.x] = (threadIdx.x * 37) % 64; }
struct Square {
  __host__ __device__ int operator()(int x) const { return x * x; }
};
int main() {
  int *x, h[64];
  cudaStream_t stream;
  cudaStreamCreate(&stream);
  cudaMalloc(&x, sizeof h);
  fill<<<1, 64, 0, stream>>>(x);
  thrust::sort(thrust::cuda::par.on(stream), x, x + 64);
  const int squares = thrust::transform_reduce(thrust::cuda::par_nosync.on(stream), x, x + 64, Square{}, 0,
                                               thrust::plus<int>());
  cudaMemcpyAsync(h, x, sizeof h, cudaMemcpyDeviceToHost, stream);
  cudaStreamSynchronize(stream);
  cudaFree(x);
  cudaStreamDestroy(stream);
  return h[0] == 0 && h[63] == 63 && squares == 63 * 64 * 127 / 6 ? 0 : 3;
}
