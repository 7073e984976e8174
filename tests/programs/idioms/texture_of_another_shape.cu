// wrong: texCubemap of textures of other shapes is not on the host
__global__ void fetch(cudaTextureObject_t t, float* y) {
  *y = texCubemap<float>(t, 1, 0, 0);  // found
}
int main() {
  float* y;
  cudaMalloc(&y, sizeof *y);
  fetch<<<1, 1>>>(0, y);
  cudaDeviceSynchronize();
  cudaDeviceReset();
}
