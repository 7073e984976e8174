// wrong: out of bounds
template <int n>
__device__ int last_of(int x) {
  __shared__ int part[n];
  part[threadIdx.x] = x;
  __syncthreads();
  return part[n - 1];
}
__global__ void k(int* y, int n) {
  extern __shared__ int room[];
  room[threadIdx.x + n] = 1;  // found
  y[threadIdx.x] = last_of<32>(threadIdx.x);
}
int main() {
  int* y;
  cudaMalloc(&y, 128);
  k<<<1, 32, 128>>>(y, 1);
  cudaDeviceSynchronize();
  cudaFree(y);
}
