// right
// Threads beyond the end compute with values that they have not set, and their results go nowhere. Numbers that are none come from
// arithmetic, and are passed on.
#include <cmath>
#include <cstdio>
template <class T>
__global__ void guarded(const T* x, T* y, int n) {
  const int i = threadIdx.x;
  T v, w[2];
  if (i < n) v = x[i];
  w[0] = v * 2;
  w[1] = w[0] + v;
  if (i < n) y[i] = w[1];
}
__global__ void warp_sum(const float* x, float* y, int n) {
  float v;
  if (threadIdx.x < n) v = x[threadIdx.x];
  for (int by = 4; by > 0; by /= 2) v += __shfl_down_sync(~0u, v, by, 8);
  if (threadIdx.x % 8 == 0 && threadIdx.x < n) y[threadIdx.x / 8] = v;
}
__global__ void no_numbers(float* y, double* z, float zero) {
  __shared__ float s[32];
  s[threadIdx.x] = threadIdx.x % 2 == 0 ? zero / zero : sqrtf(-1.0f - threadIdx.x);
  __syncthreads();
  y[threadIdx.x] = s[31 - threadIdx.x] + nanf("12");
  z[threadIdx.x] = double(s[31 - threadIdx.x]) + nan("7");
}
__global__ void greatest(const float* x, float* y, int n) {
  float most;
  bool any = false;
  for (int k = 0; k < n; ++k)
    if (!any || x[k] > most) {
      most = x[k];
      any = true;
    }
  y[0] = any ? most : 0.0f;
}
int main() {
  float h[32], r[32], none[32];
  double g[32], q[32], none_of_these[32];
  float *x, *y;
  double *u, *z;
  for (int k = 0; k < 32; ++k) g[k] = h[k] = float(k);
  cudaMalloc(&x, sizeof h);
  cudaMalloc(&y, sizeof h);
  cudaMalloc(&u, sizeof g);
  cudaMalloc(&z, sizeof g);
  cudaMemset(y, 0, sizeof h);
  cudaMemset(z, 0, sizeof g);
  cudaMemcpy(x, h, sizeof h, cudaMemcpyHostToDevice);
  cudaMemcpy(u, g, sizeof g, cudaMemcpyHostToDevice);
  guarded<<<1, 32>>>(x, y, 24);
  guarded<<<1, 32>>>(u, z, 24);
  cudaMemcpy(r, y, sizeof r, cudaMemcpyDeviceToHost);
  cudaMemcpy(q, z, sizeof q, cudaMemcpyDeviceToHost);
  bool right = r[23] == 69 && r[24] == 0 && q[23] == 69 && q[24] == 0;
  warp_sum<<<1, 32>>>(x, y, 16);
  cudaMemcpy(r, y, sizeof r, cudaMemcpyDeviceToHost);
  right = right && r[0] == 28 && r[1] == 92;
  no_numbers<<<1, 32>>>(y, z, 0.0f);
  cudaMemcpy(none, y, sizeof none, cudaMemcpyDeviceToHost);
  cudaMemcpy(none_of_these, z, sizeof q, cudaMemcpyDeviceToHost);
  for (int k = 0; k < 32; ++k) right = right && std::isnan(none[k]) && std::isnan(none_of_these[k]);
  greatest<<<1, 1>>>(x, y, 32);
  cudaMemcpy(r, y, 4, cudaMemcpyDeviceToHost);
  right = right && r[0] == 31;
  cudaFree(x);
  cudaFree(y);
  cudaFree(u);
  cudaFree(z);
  std::printf("%s\n", right ? "right" : "wrong");
  return right ? 0 : 3;
}
