#include "saxpy.h"

namespace {
__global__ void saxpy_kernel(float a, const float* x, float* y, int n) {
  const int k = blockIdx.x * blockDim.x + threadIdx.x;
  if (k < n) y[k] = a * x[k] + y[k];
}
}  // namespace

const char* saxpy(float a, const float* x, float* y, int n) {
  float *dx = nullptr, *dy = nullptr;
  cudaMalloc(&dx, n * sizeof(float));
  cudaMalloc(&dy, n * sizeof(float));
  cudaMemcpy(dx, x, n * sizeof(float), cudaMemcpyHostToDevice);
  cudaMemcpy(dy, y, n * sizeof(float), cudaMemcpyHostToDevice);
  saxpy_kernel<<<(n + 255) / 256, 256>>>(a, dx, dy, n);
  cudaMemcpy(y, dy, n * sizeof(float), cudaMemcpyDeviceToHost);
  cudaFree(dx);
  cudaFree(dy);
  const cudaError_t error = cudaGetLastError();
  return error == cudaSuccess ? nullptr : cudaGetErrorName(error);
}
