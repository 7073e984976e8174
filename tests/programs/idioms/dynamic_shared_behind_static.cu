// wrong: out of bounds
// The launch gives room for half of the threads.
__global__ void turn(float* x) {
  __shared__ float scale;
  extern __shared__ float part[];
  if (threadIdx.x == 0) scale = 2;
  part[threadIdx.x] = x[threadIdx.x];  // found
  __syncthreads();
  x[threadIdx.x] = scale * part[blockDim.x - 1 - threadIdx.x];
}
int main() {
  float* x;
  cudaMalloc(&x, 512);
  cudaMemset(x, 0, 512);
  turn<<<1, 128, 64 * sizeof(float)>>>(x);
  cudaDeviceSynchronize();
  cudaFree(x);
}
