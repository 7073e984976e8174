// refused: cublasSgemm of cuBLAS is not on the host
#include <cublas_v2.h>
__global__ void unused() {}
int main() {
  cublasHandle_t handle;
  cublasCreate(&handle);
  const float one = 1, zero = 0;
  float* x;
  cudaMalloc(&x, 64);
  cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, 2, 2, 2, &one, x, 2, x, 2, &zero, x, 2);
}
