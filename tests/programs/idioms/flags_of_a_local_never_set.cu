// wrong: uninitialized memory in host code
// A kernel copies flags that it never set to the host, which reads each of them.
#include <cstdio>
__global__ void mark(const int* x, bool* marked) {
  bool mine[8];
  for (int k = 0; k < 8; ++k)
    if (x[k] > 0) mine[k] = x[k] % 2 == 0;
  for (int k = 0; k < 8; ++k) marked[8 * threadIdx.x + k] = mine[k];
}
int main() {
  int none[8] = {}, *x, count = 0;
  bool *marked, h[256];
  cudaMalloc(&x, sizeof none);
  cudaMalloc(&marked, sizeof h);
  cudaMemcpy(x, none, sizeof none, cudaMemcpyHostToDevice);
  mark<<<1, 32>>>(x, marked);
  cudaMemcpy(h, marked, sizeof h, cudaMemcpyDeviceToHost);  // found
  for (bool is : h) count += is ? 1 : 0;
  std::printf("%d\n", count);
  cudaFree(x);
  cudaFree(marked);
}
