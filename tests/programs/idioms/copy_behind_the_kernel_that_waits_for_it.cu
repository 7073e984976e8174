// wrong: comes behind the launch in the order of streams. On a GPU neither gets on
// The default stream waits for streams that block: the copy that would open the gate comes when the kernel has ended.
__global__ void after_flag(const volatile int* flag) {
  while (*flag == 0) {  // found
  }
}
int main() {
  int *flag, *one;
  cudaMalloc(&flag, 4), cudaMallocHost(&one, 4);
  *one = 1;
  cudaMemset(flag, 0, 4);
  cudaStream_t a;
  cudaStreamCreate(&a);
  after_flag<<<1, 1, 0, a>>>(flag);
  cudaMemcpyAsync(flag, one, 4, cudaMemcpyHostToDevice, 0);
  cudaDeviceSynchronize();
  cudaStreamDestroy(a), cudaFree(flag), cudaFreeHost(one);
}
