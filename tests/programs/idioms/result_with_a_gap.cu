// wrong: uninitialized memory in host code
#include <cstdio>
#include <vector>
__global__ void every_other(float* y, int n) {
  const int i = 2 * (blockIdx.x * blockDim.x + threadIdx.x);
  if (i < n) y[i] = float(i);
}
int main() {
  std::vector<float> h(100), kept;
  float* y;
  cudaMalloc(&y, 400);
  every_other<<<1, 64>>>(y, 100);
  cudaMemcpy(h.data(), y, 400, cudaMemcpyDeviceToHost);  // found
  kept = h;
  double sum = 0;
  for (float v : kept) sum += v;
  std::printf("%g\n", sum);
  cudaFree(y);
}
