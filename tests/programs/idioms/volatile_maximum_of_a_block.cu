// wrong: race on global memory
// Warps of a block exchange values through volatile memory without a barrier or fence.
__global__ void largest(volatile float* v, int n) {
  for (int half = n / 2; half > 0; half /= 2)
    if (threadIdx.x < half && v[threadIdx.x + half] > v[threadIdx.x])
      v[threadIdx.x] = v[threadIdx.x + half];  // found
}
int main() {
  float h[256], *x;
  for (int k = 0; k < 256; ++k) h[k] = float((k * 37) % 256) + 2;
  cudaMalloc(&x, sizeof h);
  cudaMemcpy(x, h, sizeof h, cudaMemcpyHostToDevice);
  largest<<<1, 256>>>(x, 256);
  cudaMemcpy(h, x, sizeof h, cudaMemcpyDeviceToHost);
  cudaFree(x);
}
