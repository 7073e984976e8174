// wrong: nothing orders this launch
// The default stream of a host thread is ordered with the legacy stream only.
__global__ void add(int* x) {
  x[threadIdx.x] += 1;  // found
}
int main() {
  int* x;
  cudaStream_t stream;
  cudaMalloc(&x, 128);
  cudaStreamCreate(&stream);
  cudaMemsetAsync(x, 0, 128, cudaStreamPerThread);
  add<<<1, 32, 0, stream>>>(x);
  cudaDeviceSynchronize();
  cudaStreamDestroy(stream);
  cudaFree(x);
}
