// wrong: kernel twice is given the address of shared memory
__global__ void twice(int* x) { x[threadIdx.x] *= 2; }
__global__ void parent(int* y) {
  __shared__ int s[32];
  s[threadIdx.x] = threadIdx.x;
  __syncthreads();
  if (threadIdx.x == 0) twice<<<1, 32>>>(s);  // found
  y[threadIdx.x] = s[threadIdx.x];
}
int main() {
  int* y;
  cudaMalloc(&y, 128);
  parent<<<1, 32>>>(y);
  cudaDeviceSynchronize();
  cudaFree(y);
}
