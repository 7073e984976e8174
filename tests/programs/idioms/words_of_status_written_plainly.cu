// wrong: race on global memory
// The word with status and sum is written as any other: a vector of two, which may come in two parts.
__device__ unsigned tickets;
__device__ uint2 load(const uint2* p) {
  uint2 w;
  asm volatile("ld.relaxed.gpu.v2.u32 {%0, %1}, [%2];" : "=r"(w.x), "=r"(w.y) : "l"(p));  // found
  return w;
}
__global__ void chain(uint2* words, unsigned* sums) {
  if (threadIdx.x != 0) return;
  const unsigned b = atomicAdd(&tickets, 1);
  uint2 w{1, 0};
  while (b > 0 && (w = load(words + b - 1)).x == 0) {
  }
  sums[b] = w.y;
  words[b] = uint2{1, w.y + b};
}
int main() {
  uint2* words;
  unsigned* sums;
  cudaMalloc(&words, 512), cudaMalloc(&sums, 256);
  cudaMemset(words, 0, 512);
  chain<<<16, 32>>>(words, sums);
  cudaDeviceSynchronize();
  cudaFree(words), cudaFree(sums);
}
