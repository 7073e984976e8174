// right
// Kernels wait for host code: for the thread that launched them, and for one that starts later. Flags lie in pinned and managed memory;
// one is read by atomics.
#include <unistd.h>
#include <cstdio>
#include <thread>
__global__ void after_gate(const volatile int* gate, int* answer) {
  if (threadIdx.x == 0)
    while (*gate == 0) {
    }
  __syncthreads();
  answer[blockIdx.x * blockDim.x + threadIdx.x] = 2 * threadIdx.x;
}
__global__ void after_atomics(int* gate, const int* value, int* answer) {
  if (threadIdx.x == 0) {
    while (atomicAdd_system(gate, 0) != 5) {
    }
    __threadfence_system();
    *answer = *(const volatile int*)value + 1;
  }
}
int main() {
  int *gate, *answer, *value;
  cudaHostAlloc(&gate, sizeof *gate, cudaHostAllocMapped);
  cudaMallocManaged(&answer, 128 * sizeof(int));
  cudaMallocManaged(&value, sizeof(int));
  *gate = 0;
  *value = 0;
  after_gate<<<4, 32>>>(gate, answer);
  if (cudaGetLastError() != cudaSuccess) return 4;
  *(volatile int*)gate = 1;
  cudaDeviceSynchronize();
  const bool first = answer[127] == 62;

  *gate = 0;
  after_gate<<<1, 32>>>(gate, answer);
  *gate = 1;  // the word that the kernel reads over and over
  cudaDeviceSynchronize();
  const bool second = answer[31] == 62;

  *gate = 0;
  after_atomics<<<1, 32>>>(gate, value, answer);
  std::thread other([&] {
    usleep(300000);
    *(volatile int*)value = 41;
    __atomic_store_n(gate, 5, __ATOMIC_RELEASE);
  });
  cudaDeviceSynchronize();
  other.join();
  const bool third = answer[0] == 42;
  std::printf("%d %d %d\n", first, second, third);
  cudaFreeHost(gate);
  cudaFree(answer);
  cudaFree(value);
  return first && second && third ? 0 : 3;
}
