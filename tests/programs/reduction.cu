// Sums by trees in shared memory: dynamic of several types, static, by warps, and one value through a __device__ variable.
#include <cuda_runtime.h>

#include <vector>

#include "check.h"

__device__ unsigned finished;
__device__ double total;

template <class T>
struct Shared {
  __device__ static T* memory() {
    extern __shared__ int raw[];
    return reinterpret_cast<T*>(raw);
  }
};

template <class T, unsigned threads>
__global__ void sum_tree(const T* x, T* partial, unsigned n) {
  T* s = Shared<T>::memory();
  T mine = 0;
  for (unsigned k = blockIdx.x * threads + threadIdx.x; k < n; k += threads * gridDim.x) mine += x[k];
  s[threadIdx.x] = mine;
  __syncthreads();
#pragma unroll
  for (unsigned half = threads / 2; half > 0; half >>= 1) {
    if (threadIdx.x < half) s[threadIdx.x] += s[threadIdx.x + half];
    __syncthreads();
  }
  if (threadIdx.x == 0) partial[blockIdx.x] = s[0];
}

__inline__ __device__ float warp_sum(float v) {
  for (int by = warpSize / 2; by > 0; by /= 2) v += __shfl_down_sync(0xffffffff, v, by);
  return v;
}

/// The last block adds up all partial sums.
__global__ void sum_once(const float* x, volatile float* partial, unsigned n) {
  __shared__ float of_warp[32];
  __shared__ bool last;
  float mine = 0;
  for (unsigned k = blockIdx.x * blockDim.x + threadIdx.x; k < n; k += blockDim.x * gridDim.x) mine += x[k];
  mine = warp_sum(mine);
  if (threadIdx.x % 32 == 0) of_warp[threadIdx.x / 32] = mine;
  __syncthreads();
  if (threadIdx.x == 0) {
    float all = 0;
    for (unsigned w = 0; w < blockDim.x / 32; ++w) all += of_warp[w];
    partial[blockIdx.x] = all;
    __threadfence();
    last = atomicInc(&finished, gridDim.x) == gridDim.x - 1;
  }
  __syncthreads();
  if (last && threadIdx.x == 0) {
    double all = 0;
    for (unsigned b = 0; b < gridDim.x; ++b) all += partial[b];
    total = all;
    finished = 0;
  }
}

int main() {
  const unsigned n = 5000, blocks = 7;
  std::vector<float> x(n);
  std::vector<int> whole(n);
  double wanted = 0;
  for (unsigned k = 0; k < n; ++k) {
    x[k] = float(k % 13);
    whole[k] = int(k % 7);
    wanted += x[k];
  }
  float *dx, *dp;
  int *dw, *dq;
  CHECK(cudaMalloc(&dx, n * 4));
  CHECK(cudaMalloc(&dp, blocks * 4));
  CHECK(cudaMalloc(&dw, n * 4));
  CHECK(cudaMalloc(&dq, blocks * 4));
  CHECK(cudaMemcpy(dx, x.data(), n * 4, cudaMemcpyHostToDevice));
  CHECK(cudaMemcpy(dw, whole.data(), n * 4, cudaMemcpyHostToDevice));
  sum_tree<float, 128><<<blocks, 128, 128 * sizeof(float)>>>(dx, dp, n);
  sum_tree<int, 64><<<blocks, 64, 64 * sizeof(int)>>>(dw, dq, n);
  std::vector<float> p(blocks);
  std::vector<int> q(blocks);
  CHECK(cudaMemcpy(p.data(), dp, blocks * 4, cudaMemcpyDeviceToHost));
  CHECK(cudaMemcpy(q.data(), dq, blocks * 4, cudaMemcpyDeviceToHost));
  double is = 0, is_whole = 0, wanted_whole = 0;
  for (float v : p) is += v;
  for (int v : q) is_whole += v;
  for (int v : whole) wanted_whole += v;
  require_near(is, wanted, 0, "the sum");
  require_near(is_whole, wanted_whole, 0, "the sum of integers");
  sum_once<<<blocks, 96>>>(dx, dp, n);
  double once = 0;
  CHECK(cudaMemcpyFromSymbol(&once, total, sizeof once));
  require_near(once, wanted, 0, "the sum in one launch");
  cudaFree(dx), cudaFree(dp), cudaFree(dw), cudaFree(dq);
  std::printf("reduction passed\n");
}
