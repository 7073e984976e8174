// wrong: race on global memory
// A scan by one warp on volatile memory: lanes do not go in step.
__global__ void scan(volatile int* v) {
  const unsigned lane = threadIdx.x;
  for (unsigned by = 1; by < 32; by *= 2)
    if (lane >= by) v[lane] += v[lane - by];  // found
}
int main() {
  int h[32], *x;
  for (int& one : h) one = 7;
  cudaMalloc(&x, sizeof h);
  cudaMemcpy(x, h, sizeof h, cudaMemcpyHostToDevice);
  scan<<<1, 32>>>(x);
  cudaMemcpy(h, x, sizeof h, cudaMemcpyDeviceToHost);
  cudaFree(x);
}
