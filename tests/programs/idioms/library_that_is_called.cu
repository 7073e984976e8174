// refused: cublasSgetrfBatched of cuBLAS is not on the host
#include <cublas_v2.h>
__global__ void unused() {}
int main() {
  cublasHandle_t handle;
  cublasCreate(&handle);
  float** list = nullptr;
  cublasSgetrfBatched(handle, 2, list, 2, nullptr, nullptr, 1);
}
