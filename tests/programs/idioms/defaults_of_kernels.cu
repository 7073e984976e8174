// right
// flags: -std=c++14
// Default arguments of kernels, what comes along with cuda_runtime.h, and a name that C++20 has taken.
__global__ void set(int* x, int value = 3, int = 4) { x[threadIdx.x] = value; }
template <class T = int, int n = 2>
__global__ void scale(T* x, const T by = T(n), T* more = nullptr) {
  x[threadIdx.x] *= by;
  if (more != nullptr) more[threadIdx.x] = by;
}
__device__ __host__ float lerp(float a, float b, float t) { return a + t * (b - a); }
__global__ void mix(float* y) { y[threadIdx.x] = lerp(1, 3, 0.5f); }
int main() {
  int *x, h[32];
  float *y, r[32];
  cudaMalloc(&x, sizeof h);
  cudaMalloc(&y, sizeof r);
  set<<<1, 32>>>(x);
  scale<<<1, 32>>>(x);
  scale<int, 3><<<1, 32>>>(x);
  scale<<<1, 32>>>(x, 5);
  mix<<<1, 32>>>(y);
  cudaMemcpy(h, x, sizeof h, cudaMemcpyDeviceToHost);
  cudaMemcpy(r, y, sizeof r, cudaMemcpyDeviceToHost);
  cudaFree(x);
  cudaFree(y);
  const size_t many = strlen("abc");
  return h[31] == 90 && r[0] == 2.0f && many == 3 && INT_MAX > 0 && sqrt(4.0) == 2 ? 0 : 3;
}
