// wrong: bytes before the beginning of __device__ weights (16 bytes)
// The same in the other direction, through the variable's address, with values that the file gives.
__device__ float scale = 2, weights[4] = {1, 2, 3, 4}, other = 5;
__global__ void k(const float* w, float* y) {
  y[threadIdx.x] = scale * w[int(threadIdx.x) - 1] + other;  // found
}
int main() {
  void* w;
  float* y;
  cudaGetSymbolAddress(&w, weights);
  cudaMalloc(&y, 16);
  k<<<1, 4>>>(static_cast<const float*>(w), y);
  cudaDeviceSynchronize();
  cudaFree(y);
}
