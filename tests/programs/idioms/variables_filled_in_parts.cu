// right
// Variables of the device that are filled in parts, overwritten, read in part, and zero where nothing was copied.
#include <cstring>
__device__ int table[64], copy_of_table[64], zeros[8];
__constant__ int factor[2];
__global__ void k(int* y, int n) {
  const int t = threadIdx.x;
  if (t < n) y[t] = factor[1] * table[t] + copy_of_table[t] + zeros[t % 8];
}
__global__ void fill(int* x) { x[threadIdx.x] = threadIdx.x; }
int main() {
  int h[64], *x, *y, r[64];
  void* at;
  for (int k = 0; k < 64; ++k) h[k] = 100 + k;
  cudaMalloc(&x, sizeof h);
  cudaMalloc(&y, sizeof h);
  cudaMemcpyToSymbol(table, x, sizeof h, 0, cudaMemcpyDeviceToDevice);  // nothing of it is read
  cudaMemcpyToSymbol(table, h, 128);
  cudaMemcpyToSymbol(table, h + 32, 64, 128, cudaMemcpyHostToDevice);
  fill<<<1, 64>>>(x);
  cudaGetSymbolAddress(&at, copy_of_table);
  cudaMemcpy(at, x, sizeof h, cudaMemcpyDeviceToDevice);
  const int two[2] = {0, 2};
  cudaMemcpyToSymbol(factor, two, sizeof two);
  k<<<1, 64>>>(y, 48);
  cudaMemcpy(r, y, 48 * 4, cudaMemcpyDeviceToHost);
  cudaFree(x);
  cudaFree(y);
  for (int k = 0; k < 48; ++k)
    if (r[k] != 2 * (100 + k) + k) return 3;
  return 0;
}
