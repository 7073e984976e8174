// Sums of two vectors: errors as they come, unified and explicit memory, a launch in a macro and one with template arguments.
#include <vector>

#include "check.h"

template <class T, int per_thread>
__global__ void __launch_bounds__(256) add(const T* __restrict__ a, const T* __restrict__ b, T* out, int n) {
  const int first = (blockIdx.x * blockDim.x + threadIdx.x) * per_thread;
  for (int k = first; k < first + per_thread && k < n; ++k) out[k] = a[k] + b[k];
}
extern "C" __global__ void scale(float* x, float by, int = 0) { x[threadIdx.x] *= by; }

#define LAUNCH(kernel, blocks, threads, ...) kernel<<<(blocks), (threads)>>>(__VA_ARGS__)

int main() {
  const int n = 1000;
  std::vector<float> a(n), b(n), sum(n);
  for (int k = 0; k < n; ++k) a[k] = float(k), b[k] = 0.5f * float(k);
  float *da, *db, *dc;
  CHECK(cudaMalloc(&da, n * sizeof(float)));
  CHECK(cudaMalloc((void**)&db, n * sizeof(float)));
  CHECK(cudaMalloc(&dc, n * sizeof(float)));
  CHECK(cudaMemcpy(da, a.data(), n * sizeof(float), cudaMemcpyHostToDevice));
  CHECK(cudaMemcpy(db, b.data(), n * sizeof(float), cudaMemcpyHostToDevice));
  dim3 blockDim(128), gridDim((n + 255) / 256);  // names of CUDA's own, as programs use them
  add<float, 2><<<gridDim, blockDim>>>(da, db, dc, n);
  CHECK(cudaGetLastError());
  LAUNCH(scale, 1, 32, dc, 2.0f, 0);
  CHECK(cudaMemcpy(sum.data(), dc, n * sizeof(float), cudaMemcpyDeviceToHost));
  for (int k = 0; k < n; ++k) require_near(sum[k], (k < 32 ? 2 : 1) * 1.5 * k, 0, "a sum");

  // Errors as a device gives them: they are told once, and do not stay.
  add<float, 2><<<1, 2048>>>(da, db, dc, n);
  if (cudaGetLastError() != cudaErrorInvalidConfiguration || cudaGetLastError() != cudaSuccess) return 2;
  if (cudaMemcpy(sum.data(), dc, n * sizeof(float), cudaMemcpyHostToDevice) != cudaErrorInvalidValue)
    return 2;
  if (cudaPeekAtLastError() != cudaErrorInvalidValue || cudaGetLastError() != cudaErrorInvalidValue) return 2;
  void* args[] = {&dc, nullptr, nullptr};
  float by = 0.5f;
  int unused = 0;
  args[1] = &by;
  args[2] = &unused;
  CHECK(cudaLaunchKernel(scale, dim3(1), dim3(32), args, 0, 0));

  int* managed;
  CHECK(cudaMallocManaged(&managed, 64 * sizeof(int)));
  for (int k = 0; k < 64; ++k) managed[k] = k;
  add<int, 1><<<1, 64>>>(managed, managed, managed, 64);
  CHECK(cudaDeviceSynchronize());
  for (int k = 0; k < 64; ++k) require_near(managed[k], 2 * k, 0, "a managed sum");
  CHECK(cudaFree(managed));
  for (float* p : {da, db, dc}) CHECK(cudaFree(p));
  std::printf("vector_add passed\n");
}
