// refused: in another stream could write it, but kernels run one at a time here
__global__ void after_flag(const volatile int* flag) {
  while (*flag == 0) {  // found
  }
}
__global__ void open(volatile int* flag) { *flag = 1; }
int main() {
  int* flag;
  cudaMalloc(&flag, 4);
  cudaMemset(flag, 0, 4);
  cudaStream_t a, b;
  cudaStreamCreate(&a), cudaStreamCreate(&b);
  after_flag<<<1, 1, 0, a>>>(flag);
  open<<<1, 1, 0, b>>>(flag);
  cudaDeviceSynchronize();
  cudaStreamDestroy(a), cudaStreamDestroy(b), cudaFree(flag);
}
