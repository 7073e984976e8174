// wrong: which has the value of a variable that was never set
// A function sets as many elements of its caller's array as there are; the caller stores one more.
__device__ __noinline__ int collect(const int* x, int n, int* to) {
  int found = 0;
  for (int k = 0; k < n; ++k)
    if (x[k] % 3 == 0) to[found++] = x[k];
  return found;
}
__global__ void pick(const int* x, int* picked) {
  int mine[4];
  const int found = collect(x + 4 * threadIdx.x, 4, mine);
  for (int k = 0; k <= found && k < 4; ++k) picked[4 * threadIdx.x + k] = mine[k];
}
__global__ void add(const int* picked, int* sum) {
  atomicAdd(sum, picked[4 * threadIdx.x] + picked[4 * threadIdx.x + 1]);  // found
}
int main() {
  int h[128], *x, *picked, *sum;
  for (int k = 0; k < 128; ++k) h[k] = k;
  cudaMalloc(&x, sizeof h);
  cudaMalloc(&picked, sizeof h);
  cudaMalloc(&sum, 4);
  cudaMemcpy(x, h, sizeof h, cudaMemcpyHostToDevice);
  cudaMemset(sum, 0, 4);
  pick<<<1, 32>>>(x, picked);
  add<<<1, 32>>>(picked, sum);
  cudaDeviceSynchronize();
  cudaFree(x);
  cudaFree(picked);
  cudaFree(sum);
}
