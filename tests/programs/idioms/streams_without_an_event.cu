// wrong: nothing orders this launch
__global__ void fill(int* x, int v) { x[threadIdx.x] = v; }
__global__ void add(const int* x, int* y) {
  y[threadIdx.x] = x[threadIdx.x] + 1;  // found
}
int main() {
  int *x, *y;
  cudaMalloc(&x, 128), cudaMalloc(&y, 128);
  cudaStream_t a, b;
  cudaStreamCreate(&a), cudaStreamCreate(&b);
  fill<<<1, 32, 0, a>>>(x, 5);
  add<<<1, 32, 0, b>>>(x, y);
  cudaDeviceSynchronize();
  cudaStreamDestroy(a), cudaStreamDestroy(b), cudaFree(x), cudaFree(y);
}
