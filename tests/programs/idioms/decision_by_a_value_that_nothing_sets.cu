// wrong: limit, which nothing sets, is part of a computation
__global__ void below(const int* x, int* y) {
  int limit;
  y[threadIdx.x] = 0;
  if (x[threadIdx.x] < limit) y[threadIdx.x] = 1;  // found
}
int main() {
  int *x, *y;
  cudaMalloc(&x, 128);
  cudaMalloc(&y, 128);
  cudaMemset(x, 0, 128);
  below<<<1, 32>>>(x, y);
  cudaDeviceSynchronize();
  cudaFree(x);
  cudaFree(y);
}
