// wrong: race on global memory
// Blocks take turns. Each fences before it writes what the next one reads, and not behind that.
__device__ unsigned taken, ended;
__device__ int carry;
__global__ void k(int* out) {
  if (threadIdx.x != 0) return;
  const unsigned me = atomicAdd(&taken, 1);
  while (atomicAdd(&ended, 0) != me) {
  }
  __threadfence();
  const int before = carry;  // found
  out[me] = before;
  carry = before + 1;
  atomicAdd(&ended, 1);
}
int main() {
  int* out;
  cudaMalloc(&out, 16);
  k<<<4, 32>>>(out);
  cudaDeviceSynchronize();
  cudaFree(out);
}
