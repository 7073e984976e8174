// wrong: missing synchronization
__global__ void unused() {}
int main() {
  int *pinned, *x;
  cudaStream_t stream;
  cudaStreamCreate(&stream);
  cudaMallocHost(&pinned, 256);
  cudaMalloc(&x, 256);
  for (int k = 0; k < 64; ++k) pinned[k] = k;
  cudaMemcpyAsync(x, pinned, 256, cudaMemcpyHostToDevice, stream);
  const int first = pinned[0];
  pinned[1] = first;  // found
  cudaStreamSynchronize(stream);
  cudaFree(x);
  cudaFreeHost(pinned);
  cudaStreamDestroy(stream);
}
