// right
// flags: -lcublas -lcublasLt -lcurand -lnvToolsExt -arch=sm_90
// Headers and handles of libraries, names for a profiler, profiler switches.
#include <cublasLt.h>
#include <cublas_v2.h>
#include <cuda_profiler_api.h>
#include <curand.h>
#include <nvtx3/nvToolsExt.h>
#include <nvtx3/nvtx3.hpp>
__global__ void set(int* x) { x[threadIdx.x] = 1; }
int main() {
  NVTX3_FUNC_RANGE();
  nvtx3::scoped_range range("all");
  cublasHandle_t handle;
  if (cublasCreate(&handle) != CUBLAS_STATUS_SUCCESS) return 4;
  int *x, h[32];
  nvtxRangePush("set");
  cudaProfilerStart();
  cudaMalloc(&x, sizeof h);
  set<<<1, 32>>>(x);
  cudaMemcpy(h, x, sizeof h, cudaMemcpyDeviceToHost);
  cudaProfilerStop();
  nvtxRangePop();
  cudaFree(x);
  cublasDestroy(handle);
  cudaSharedMemConfig banks;
  cudaDeviceGetSharedMemConfig(&banks);
  return h[31] == 1 && banks == cudaSharedMemBankSizeFourByte ? 0 : 3;
}
