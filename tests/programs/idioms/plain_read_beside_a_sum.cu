// wrong: race on global memory
// The plain read is no guess: its value is used as a place.
__global__ void append(int* out, int* count) {
  const int place = *count;  // found
  out[(place + threadIdx.x) % 256] = threadIdx.x;
  atomicAdd(count, 1);
}
int main() {
  int *out, *count;
  cudaMalloc(&out, 1024);
  cudaMalloc(&count, 4);
  cudaMemset(count, 0, 4);
  append<<<2, 64>>>(out, count);
  cudaDeviceSynchronize();
  cudaFree(out);
  cudaFree(count);
}
