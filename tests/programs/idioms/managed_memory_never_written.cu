// wrong: uninitialized memory
// Managed memory is not cleared. The host writes all but the last element.
__global__ void twice(const int* x, int* y) {
  y[threadIdx.x] = 2 * x[threadIdx.x];  // found
}
int main() {
  int *x, *y;
  cudaMallocManaged(&x, 128);
  cudaMallocManaged(&y, 128);
  for (int k = 0; k < 31; ++k) x[k] = k;
  twice<<<1, 32>>>(x, y);
  cudaDeviceSynchronize();
  const bool right = y[30] == 60;
  cudaFree(x);
  cudaFree(y);
  return right ? 0 : 3;
}
