// wrong: race on global memory
// A sum and its status are two words: relaxed accesses of the status order nothing without a fence behind the sum.
__device__ unsigned tickets;
__global__ void chain(unsigned* status, unsigned* sums) {
  if (threadIdx.x != 0) return;
  const int b = int(atomicAdd(&tickets, 1));
  unsigned before = 0;
  if (b > 0) {
    unsigned s;
    do asm volatile("ld.acquire.gpu.u32 %0, [%1];" : "=r"(s) : "l"(status + b - 1) : "memory");
    while (s == 0);
    asm volatile("ld.cg.u32 %0, [%1];" : "=r"(before) : "l"(sums + b - 1));  // found
  }
  asm volatile("st.cg.u32 [%0], %1;" ::"l"(sums + b), "r"(before + b));
  asm volatile("st.relaxed.gpu.u32 [%0], %1;" ::"l"(status + b), "r"(1) : "memory");
}
int main() {
  unsigned *status, *sums;
  cudaMalloc(&status, 256), cudaMalloc(&sums, 256);
  cudaMemset(status, 0, 256);
  chain<<<16, 32>>>(status, sums);
  cudaDeviceSynchronize();
  cudaFree(status), cudaFree(sums);
}
