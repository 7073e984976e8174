// wrong: the launch of child with 1 x 1 x 1 blocks of 2048 x 1 x 1 threads by a kernel failed
__global__ void child(int* x) { x[threadIdx.x] = 1; }
__global__ void parent(int* x) {
  child<<<1, 2048>>>(x);  // found
}
int main() {
  int* x;
  cudaMalloc(&x, 8192);
  parent<<<1, 1>>>(x);
  cudaDeviceSynchronize();
  cudaFree(x);
}
