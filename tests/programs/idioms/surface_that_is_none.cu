// wrong: a write to no surface
__global__ void fill(cudaSurfaceObject_t s) {
  surf2Dwrite(1.0f, s, threadIdx.x * 4, 0);  // found
}
int main() {
  fill<<<1, 32>>>(0);
  cudaDeviceSynchronize();
}
