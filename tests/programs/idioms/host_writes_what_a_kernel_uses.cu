// wrong: missing synchronization
__global__ void twice(int* x) { x[threadIdx.x] *= 2; }
int main() {
  int* x;
  cudaMallocManaged(&x, 256);
  for (int k = 0; k < 64; ++k) x[k] = k;
  twice<<<1, 64>>>(x);
  x[0] = 5;  // found
  cudaDeviceSynchronize();
  cudaFree(x);
}
