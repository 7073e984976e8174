// right
// Texture references bound by address, as C does, and by reference.
texture<float, 1, cudaReadModeElementType> by_address, by_reference;
__global__ void k(float* y) {
  y[threadIdx.x] = tex1Dfetch(by_address, threadIdx.x) + tex1Dfetch(by_reference, 31 - threadIdx.x);
}
int main() {
  float h[32], *x, *y;
  for (int i = 0; i < 32; ++i) h[i] = float(i);
  cudaMalloc(&x, sizeof h);
  cudaMalloc(&y, sizeof h);
  cudaMemcpy(x, h, sizeof h, cudaMemcpyHostToDevice);
  cudaChannelFormatDesc format = cudaCreateChannelDesc<float>();
  cudaBindTexture(NULL, &by_address, x, &format, sizeof h);
  cudaBindTexture(NULL, by_reference, x, format, sizeof h);
  k<<<1, 32>>>(y);
  cudaUnbindTexture(&by_address);
  cudaUnbindTexture(by_reference);
  cudaMemcpy(h, y, sizeof h, cudaMemcpyDeviceToHost);
  cudaFree(x);
  cudaFree(y);
  return h[0] == 31 && h[17] == 31 ? 0 : 3;
}
