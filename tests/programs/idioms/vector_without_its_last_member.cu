// wrong: the copy brings bytes 12 to 15
#include <cstdio>
// Three members of a vector are set, and host code prints all four.
__device__ float4 corner(int k) {
  float4 v;
  v.x = k & 1;
  v.y = k >> 1 & 1;
  v.z = k >> 2;
  return v;
}
__global__ void corners(float4* to) { to[threadIdx.x] = corner(threadIdx.x); }
int main() {
  float4 *a, h[8];
  cudaMalloc(&a, sizeof h);
  corners<<<1, 8>>>(a);
  cudaMemcpy(h, a, sizeof h, cudaMemcpyDeviceToHost);  // found
  for (const float4& v : h) std::printf("%g %g %g %g\n", v.x, v.y, v.z, v.w);
  cudaFree(a);
}
