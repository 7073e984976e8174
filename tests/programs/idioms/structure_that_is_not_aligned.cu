// wrong: no multiple of 16
// A structure of four floats is read as one vector, at an address of a float.
struct __align__(16) Four {
  float a, b, c, d;
};
__global__ void k(const float* x, float* y) {
  const Four v = *reinterpret_cast<const Four*>(x + 4 * threadIdx.x + 1);  // found
  y[threadIdx.x] = v.a + v.d;
}
int main() {
  float *x, *y;
  cudaMalloc(&x, 1024);
  cudaMalloc(&y, 128);
  cudaMemset(x, 0, 1024);
  k<<<1, 32>>>(x, y);
  cudaDeviceSynchronize();
  cudaFree(x);
  cudaFree(y);
}
