// right
// A launch that may overlap with the one before, which triggers nothing: it begins when the blocks of that one have ended.
#include <cstdio>

__global__ void first(int* x) { x[threadIdx.x] = int(threadIdx.x); }
__global__ void second(const int* x, int* y) {
  const int before = x[31 - threadIdx.x];
  cudaGridDependencySynchronize();
  y[threadIdx.x] = before;
}
int main() {
  int *x, *y, h[32];
  cudaMalloc(&x, sizeof h);
  cudaMalloc(&y, sizeof h);
  first<<<1, 32>>>(x);
  cudaLaunchAttribute overlaps = {};
  overlaps.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  overlaps.val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t config = {};
  config.gridDim = dim3(1);
  config.blockDim = dim3(32);
  config.attrs = &overlaps;
  config.numAttrs = 1;
  cudaLaunchKernelEx(&config, second, (const int*)x, y);
  cudaMemcpy(h, y, sizeof h, cudaMemcpyDeviceToHost);
  cudaFree(x), cudaFree(y);
  return h[0] == 31 && h[31] == 0 ? 0 : 3;
}
