// wrong: count, which nothing sets, is part of a computation
// A thread counts from a value that it never set.
__global__ void even(const int* x, int* y, int n) {
  int count, first = 0;
  for (int k = threadIdx.x; k < n; k += 32)
    if (x[k] % 2 == 0) count++;  // found
  y[threadIdx.x] = max(first, count);
}
int main() {
  int h[128], *x, *y;
  for (int k = 0; k < 128; ++k) h[k] = k / 3;
  cudaMalloc(&x, sizeof h);
  cudaMalloc(&y, 128);
  cudaMemcpy(x, h, sizeof h, cudaMemcpyHostToDevice);
  even<<<1, 32>>>(x, y, 128);
  cudaDeviceSynchronize();
  cudaFree(x);
  cudaFree(y);
}
