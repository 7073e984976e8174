// wrong: no multiple of 8
// The same for a store, in shared memory that is declared as bytes.
typedef struct alignas(8) {
  int key, value;
} Entry;
__global__ void k(int* y) {
  __shared__ unsigned char bytes[1024];
  auto* const at = reinterpret_cast<Entry*>(bytes + 4 + 8 * threadIdx.x);
  Entry e;
  e.key = threadIdx.x;
  e.value = 2 * threadIdx.x;
  *at = e;  // found
  __syncthreads();
  y[threadIdx.x] = at->key;
}
int main() {
  int* y;
  cudaMalloc(&y, 128);
  k<<<1, 32>>>(y);
  cudaDeviceSynchronize();
  cudaFree(y);
}
