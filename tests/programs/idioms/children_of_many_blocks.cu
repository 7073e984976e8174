// right
// Each block launches one child for its part, from a device function, with a structure and its own dynamic shared memory.
struct Part {
  const float* from;
  float* sum;
  int n;
};
__global__ void add_up(Part part) {
  extern __shared__ float s[];
  float sum = 0;
  for (int k = threadIdx.x; k < part.n; k += blockDim.x) sum += part.from[k];
  s[threadIdx.x] = sum;
  for (int half = blockDim.x / 2; half > 0; half /= 2) {
    __syncthreads();
    if (threadIdx.x < half) s[threadIdx.x] += s[threadIdx.x + half];
  }
  if (threadIdx.x == 0) *part.sum = s[0];
}
__device__ void launch_sum(const float* x, float* sums, int n) {
  if (threadIdx.x != 0) return;
  const Part part{x + blockIdx.x * n, sums + blockIdx.x, n};
  add_up<<<1, 32, 32 * sizeof(float)>>>(part);
}
__global__ void parts(float* x, float* sums, int n) {
  for (int k = threadIdx.x; k < n; k += blockDim.x) x[blockIdx.x * n + k] = blockIdx.x + k;
  __syncthreads();
  launch_sum(x, sums, n);
}
int main() {
  constexpr int blocks = 7, n = 40;
  float *x, *sums, h[blocks];
  cudaMalloc(&x, blocks * n * sizeof(float));
  cudaMalloc(&sums, sizeof h);
  parts<<<blocks, 64>>>(x, sums, n);
  cudaMemcpy(h, sums, sizeof h, cudaMemcpyDeviceToHost);
  cudaFree(x);
  cudaFree(sums);
  for (int b = 0; b < blocks; ++b)
    if (h[b] != b * n + n * (n - 1) / 2) return 3;
}
