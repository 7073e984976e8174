// right
// Threads end in the middle of a function: exit in PTX, also under a predicate. Lanes that are left meet.
#include <cstdio>
__device__ int ends_if_odd(int t) {
  if (t % 2 == 1) asm volatile("exit;");
  return t / 2;
}
__device__ void ends_behind(int t, int last) {
  asm volatile("{ .reg .pred p; setp.gt.s32 p, %0, %1; @p exit; }" ::"r"(t), "r"(last));
}
__global__ void k(int* y) {
  const int t = threadIdx.x;
  const int half = ends_if_odd(t);
  ends_behind(t, 39);
  y[t] = t < 32 ? __shfl_xor_sync(0x55555555, half, 2) : half;
}
int main() {
  int *y, wrong = 0;
  cudaMallocManaged(&y, 64 * sizeof(int));
  for (int t = 0; t < 64; ++t) y[t] = -1;
  k<<<1, 64>>>(y);
  cudaDeviceSynchronize();
  for (int t = 0; t < 64; ++t) wrong += y[t] != (t % 2 == 1 || t > 39 ? -1 : t < 32 ? (t ^ 2) / 2 : t / 2);
  std::printf("%d wrong\n", wrong);
  cudaFree(y);
  return wrong == 0 ? 0 : 3;
}
