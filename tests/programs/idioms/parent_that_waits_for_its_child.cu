// wrong: cudaDeviceSynchronize is called in device code
__global__ void child(int* x) { *x = 1; }
__global__ void parent(int* x) {
  child<<<1, 1>>>(x);
  cudaDeviceSynchronize();  // found
  *x += 1;
}
int main() {
  int* x;
  cudaMalloc(&x, 4);
  parent<<<1, 1>>>(x);
  if (cudaDeviceSynchronize() != cudaSuccess) return 1;
  cudaFree(x);
}
