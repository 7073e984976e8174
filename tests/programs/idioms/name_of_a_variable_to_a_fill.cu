// wrong: a fill is given the name
__device__ int cells[8];
__global__ void k(int* y) { y[threadIdx.x] = cells[threadIdx.x]; }
int main() {
  int* y;
  cudaMalloc(&y, 32);
  cudaMemset(cells, 0, sizeof cells);  // found
  k<<<1, 8>>>(y);
  cudaDeviceSynchronize();
  cudaFree(y);
}
