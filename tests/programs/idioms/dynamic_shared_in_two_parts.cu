// right
// One allocation, cut into two arrays.
__global__ void sums(const int* x, long long* y) {
  extern __shared__ __align__(8) unsigned char room[];
  auto* wide = reinterpret_cast<long long*>(room);
  auto* narrow = reinterpret_cast<int*>(wide + blockDim.x);
  narrow[threadIdx.x] = x[threadIdx.x];
  wide[threadIdx.x] = (long long)x[threadIdx.x] << 33;
  __syncthreads();
  y[threadIdx.x] = wide[blockDim.x - 1 - threadIdx.x] + narrow[threadIdx.x ^ 1];
}
int main() {
  int h[64], *x;
  long long *y, r[64];
  for (int k = 0; k < 64; ++k) h[k] = k;
  cudaMalloc(&x, sizeof h);
  cudaMalloc(&y, sizeof r);
  cudaMemcpy(x, h, sizeof h, cudaMemcpyHostToDevice);
  sums<<<1, 64, 64 * 12>>>(x, y);
  cudaMemcpy(r, y, sizeof r, cudaMemcpyDeviceToHost);
  cudaFree(x);
  cudaFree(y);
  return r[0] == (63ll << 33) + 1 ? 0 : 3;
}
