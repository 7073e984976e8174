// right
// The same scan with the barriers that it needs.
__global__ void scan(volatile int* v) {
  const unsigned lane = threadIdx.x;
  for (unsigned by = 1; by < 32; by *= 2) {
    const int before = lane >= by ? v[lane - by] : 0;
    __syncwarp();
    v[lane] += before;
    __syncwarp();
  }
}
int main() {
  int h[32], *x;
  for (int& one : h) one = 7;
  cudaMalloc(&x, sizeof h);
  cudaMemcpy(x, h, sizeof h, cudaMemcpyHostToDevice);
  scan<<<1, 32>>>(x);
  cudaMemcpy(h, x, sizeof h, cudaMemcpyDeviceToHost);
  cudaFree(x);
  return h[31] == 32 * 7 ? 0 : 3;
}
