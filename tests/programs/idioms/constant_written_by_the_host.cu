// wrong: host access of device memory
// On a GPU the name of a __constant__ variable is another variable in host code.
__constant__ int factor;
__global__ void k(int* y) { y[threadIdx.x] = factor * threadIdx.x; }
int main() {
  int* y;
  factor = 3;  // found
  cudaMalloc(&y, 128);
  k<<<1, 32>>>(y);
  cudaDeviceSynchronize();
  cudaFree(y);
}
