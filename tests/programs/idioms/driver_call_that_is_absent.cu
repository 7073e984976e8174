// refused: driver_call_that_is_absent.cu:9: cuModuleLoad of the driver API is not on the host
#include <cuda.h>

__global__ void nothing() {}
int main(int count, char**) {
  CUmodule module = nullptr;
  nothing<<<1, 1>>>();
  cudaDeviceSynchronize();
  return count > 0 && cuModuleLoad(&module, "kernels.ptx") != CUDA_SUCCESS;
}
