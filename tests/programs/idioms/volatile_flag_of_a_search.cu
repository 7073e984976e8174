// right
// A word that becomes 1 tells others that they may stop. Who sees it late only works in vain.
__global__ void search(const int* x, int n, int wanted, volatile int* found) {
  for (int k = threadIdx.x; k < n && *found == 0; k += blockDim.x)
    if (x[k] == wanted) *found = 1;
}
int main() {
  int h[512], *x, *found, was = 0;
  for (int k = 0; k < 512; ++k) h[k] = k % 100;
  cudaMalloc(&x, sizeof h);
  cudaMalloc(&found, 4);
  cudaMemset(found, 0, 4);
  cudaMemcpy(x, h, sizeof h, cudaMemcpyHostToDevice);
  search<<<1, 64>>>(x, 512, 42, found);
  cudaMemcpy(&was, found, 4, cudaMemcpyDeviceToHost);
  cudaFree(x);
  cudaFree(found);
  return was == 1 ? 0 : 3;
}
