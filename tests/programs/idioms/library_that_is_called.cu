// refused: cublasSgeqrfBatched of cuBLAS is not on the host
#include <cublas_v2.h>
__global__ void unused() {}
int main() {
  cublasHandle_t handle;
  cublasCreate(&handle);
  float** list = nullptr;
  cublasSgeqrfBatched(handle, 2, 2, list, 2, list, nullptr, 1);
}
