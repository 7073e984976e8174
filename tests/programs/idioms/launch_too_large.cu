// wrong: failed call
__global__ void set(int* x) { x[blockIdx.x * blockDim.x + threadIdx.x] = 1; }
int main() {
  int* x;
  cudaMalloc(&x, 8192);
  const dim3 threads(64, 32);
  set<<<1, threads>>>(x);  // found
  cudaDeviceSynchronize();
  cudaFree(x);
}
