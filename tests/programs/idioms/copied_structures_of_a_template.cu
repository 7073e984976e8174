// wrong: uninitialized memory
// A template returns a structure whose count it sets for some threads only; shared memory passes it on.
template <class T>
struct Best {
  T value;
  int index;
};
template <class T>
__device__ __noinline__ Best<T> best_of(const T* x, int n) {
  Best<T> best;
  best.value = x[0];
  for (int k = 1; k < n; ++k)
    if (x[k] > best.value) {
      best.value = x[k];
      best.index = k;
    }
  return best;
}
__global__ void search(const float* x, int* indexes, int n) {
  __shared__ Best<float> all[32];
  all[threadIdx.x] = best_of(x + n * threadIdx.x, n);
  __syncthreads();
  const Best<float> other = all[31 - threadIdx.x];  // found
  indexes[threadIdx.x] = other.index;
}
int main() {
  float h[128], *x;
  int* indexes;
  for (int k = 0; k < 128; ++k) h[k] = k == 4 ? 200 : k;
  cudaMalloc(&x, sizeof h);
  cudaMalloc(&indexes, 128);
  cudaMemcpy(x, h, sizeof h, cudaMemcpyHostToDevice);
  search<<<1, 32>>>(x, indexes, 4);
  cudaDeviceSynchronize();
  cudaFree(x);
  cudaFree(indexes);
}
