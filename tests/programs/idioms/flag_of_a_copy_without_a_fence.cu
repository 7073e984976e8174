// wrong: no fence (__threadfence) lies between the flag that tells so and this access
// A copy in another stream brings data, and then a flag; the kernel that waits for the flag reads the data at once.
__global__ void after_flag(volatile int* flag, const int* data, int* out) {
  while (*flag == 0) {
  }
  *out = *data;  // found
}
int main() {
  int *flag, *data, *out;
  cudaMalloc(&flag, 4), cudaMalloc(&data, 4), cudaMalloc(&out, 4);
  cudaMemset(flag, 0, 4), cudaMemset(data, 0, 4);
  cudaDeviceSynchronize();
  cudaStream_t a, b;
  cudaStreamCreateWithFlags(&a, cudaStreamNonBlocking), cudaStreamCreateWithFlags(&b, cudaStreamNonBlocking);
  after_flag<<<1, 1, 0, a>>>(flag, data, out);
  cudaMemsetAsync(data, 5, 4, b);
  cudaMemsetAsync(flag, 1, 4, b);
  cudaDeviceSynchronize();
  cudaStreamDestroy(a), cudaStreamDestroy(b), cudaFree(flag), cudaFree(data), cudaFree(out);
}
