// wrong: nothing orders this call
#include <cstdlib>
__global__ void fill(int* x, int v) { x[threadIdx.x] = v; }
int main() {
  int *x, *h;
  cudaMalloc(&x, 128), cudaMallocHost(&h, 128);
  cudaStream_t a, b;
  cudaStreamCreate(&a), cudaStreamCreate(&b);
  fill<<<1, 32, 0, a>>>(x, 5);
  cudaMemcpyAsync(h, x, 128, cudaMemcpyDeviceToHost, b);  // found
  cudaDeviceSynchronize();
  cudaStreamDestroy(a), cudaStreamDestroy(b), cudaFree(x), cudaFreeHost(h);
}
