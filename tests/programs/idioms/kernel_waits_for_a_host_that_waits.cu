// wrong: On a GPU neither gets on
// Host code waits for the kernel before it opens the gate: neither gets on.
#include <cstdio>
__global__ void after_gate(const volatile int* gate, int* answer) {
  if (threadIdx.x == 0)
    while (*gate == 0) {  // found
    }
  __syncthreads();
  answer[threadIdx.x] = 2 * threadIdx.x;
}
int main() {
  int *gate, *answer;
  cudaHostAlloc(&gate, sizeof *gate, cudaHostAllocMapped);
  cudaMallocManaged(&answer, 32 * sizeof(int));
  *gate = 0;
  after_gate<<<1, 32>>>(gate, answer);
  cudaDeviceSynchronize();
  *(volatile int*)gate = 1;
  std::printf("%d\n", answer[31]);
  cudaFreeHost(gate);
  cudaFree(answer);
}
