// wrong: uninitialized memory
// The same with doubles, which go through global memory to another launch.
__global__ void scaled(const double* x, double* y, int n) {
  double mine, factors[2];
  factors[0] = 3.0;
  if (threadIdx.x < n) mine = x[threadIdx.x];
  y[threadIdx.x] = factors[0] * mine - 1.0;
}
__global__ void copied(const double* x, double* y) {
  y[threadIdx.x] = 2.0 * x[threadIdx.x];  // found
}
int main() {
  double *x, *y, *z;
  cudaMalloc(&x, 512);
  cudaMalloc(&y, 512);
  cudaMalloc(&z, 512);
  cudaMemset(x, 0, 512);
  scaled<<<1, 64>>>(x, y, 60);
  copied<<<1, 64>>>(y, z);
  cudaDeviceSynchronize();
  cudaFree(x);
  cudaFree(y);
  cudaFree(z);
}
