// right
// Sums of bfloat16 by atomics, numbers packed in words, and reductions of a warp in PTX.
#include <cuda_bf16.h>
__global__ void sums(__nv_bfloat162* pair, __nv_bfloat16* one) {
  const __nv_bfloat16 half = __float2bfloat16(0.5f), quarter = __float2bfloat16(0.25f);
  atomicAdd(pair, __nv_bfloat162(half, quarter));
  if (threadIdx.x % 4 == 0) atomicAdd(one, half);
}
__global__ void packed(const unsigned* a, unsigned* y) {
  const unsigned p = a[0], q = a[1];
  y[0] = __vaddss4(p, q);
  y[1] = __vavgs2(p, q);
  y[2] = __vhaddu4(p, q);
  y[3] = __vcmpltu2(p, q);
  y[4] = __vabsss4(p);
  y[5] = __vsads2(p, q);
  y[6] = __vsetne4(p, q);
  y[7] = __vnegss2(p);
}
__global__ void reduced(unsigned* y) {
  unsigned any, least;
  asm volatile("redux.sync.or.b32 %0, %1, 0xffffffff;" : "=r"(any) : "r"(1u << threadIdx.x));
  asm volatile("redux.sync.min.s32 %0, %1, %2;" : "=r"(least) : "r"(int(threadIdx.x) - 7), "r"(0xffffffffu));
  y[0] = any;
  y[1] = least;
}
int main() {
  __nv_bfloat162 *pair, p;
  __nv_bfloat16 *one, o;
  cudaMalloc(&pair, 4);
  cudaMalloc(&one, 2);
  cudaMemset(pair, 0, 4);
  cudaMemset(one, 0, 2);
  sums<<<2, 16>>>(pair, one);
  cudaMemcpy(&p, pair, 4, cudaMemcpyDeviceToHost);
  cudaMemcpy(&o, one, 2, cudaMemcpyDeviceToHost);
  const unsigned words[2] = {0x807F0010u, 0x80010120u};
  unsigned *a, *y, h[8], r[2];
  cudaMalloc(&a, 8);
  cudaMalloc(&y, 32);
  cudaMemcpy(a, words, 8, cudaMemcpyHostToDevice);
  packed<<<1, 1>>>(a, y);
  cudaMemcpy(h, y, 32, cudaMemcpyDeviceToHost);
  reduced<<<1, 32>>>(y);
  cudaMemcpy(r, y, 8, cudaMemcpyDeviceToHost);
  cudaFree(pair);
  cudaFree(one);
  cudaFree(a);
  cudaFree(y);
  const unsigned wanted[8] = {0x807F0130u, 0x80400098u,    0x80400018u, 0x0000FFFFu,
                              0x7F7F0010u, 0x7Eu + 0x110u, 0x00010101u, 0x7F81FFF0u};
  int wrong = 0;
  for (int k = 0; k < 8; ++k) wrong += h[k] != wanted[k];
  wrong += __bfloat162float(p.x) != 16 || __bfloat162float(p.y) != 8 || __bfloat162float(o) != 4;
  return wrong == 0 && r[0] == ~0u && int(r[1]) == -7 ? 0 : 3;
}
