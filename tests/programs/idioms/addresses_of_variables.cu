// right
__device__ int cells[8];
__constant__ int more[8];
__managed__ int shared_with_host[8];
__global__ void k(int* a, const int* b, int* c) {
  c[threadIdx.x] = a[threadIdx.x] + b[threadIdx.x] + more[threadIdx.x];
}
int main() {
  int h[8] = {1, 2, 3, 4, 5, 6, 7, 8}, *a;
  void* b;
  cudaGetSymbolAddress((void**)&a, cells);
  cudaGetSymbolAddress(&b, more);
  cudaMemcpyToSymbol(more, h, sizeof h);
  cudaMemcpy(a, h, sizeof h, cudaMemcpyHostToDevice);
  k<<<1, 8>>>(a, static_cast<const int*>(b), shared_with_host);
  cudaDeviceSynchronize();
  return shared_with_host[7] == 24 ? 0 : 3;
}
