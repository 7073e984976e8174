// wrong: cublasSgemm uses
#include <cublas_v2.h>
__global__ void set(float* x) { x[threadIdx.x] = 1; }
int main() {
  float *a, *c;
  cudaMalloc(&a, 64), cudaMalloc(&c, 60);
  set<<<1, 16>>>(a);
  cublasHandle_t h;
  cublasCreate(&h);
  const float one = 1, zero = 0;
  cublasSgemm(h, CUBLAS_OP_N, CUBLAS_OP_N, 4, 4, 4, &one, a, 4, a, 4, &zero, c, 4);  // found
  cublasDestroy(h);
  cudaFree(a), cudaFree(c);
}
