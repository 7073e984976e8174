// right
// Pairs and fours of floats by one atomic, which returns the old values; the same by red.global.add in PTX, also of halves.
__global__ void sums(float2* pairs, float4* fours, float2* old, unsigned* halves) {
  const unsigned t = threadIdx.x;
  const float2 before = atomicAdd(pairs + t / 2, make_float2(1, t));
  if (t % 2 == 0) atomicAdd(fours, make_float4(1, 2, 3, 0.5f));
  asm volatile("red.global.add.v2.f32 [%0], {%1, %2};" ::"l"(pairs + t / 2), "f"(0.25f), "f"(-1.0f)
               : "memory");
  old[t] = before;
  const unsigned one_and_two = 0x40003C00, of_bfloat16 = 0x40003F80;  // low half first
  asm volatile("red.global.add.noftz.v4.f16x2 [%0], {%1, %2, %1, %2};" ::"l"(halves), "r"(one_and_two), "r"(0)
               : "memory");
  asm volatile("red.global.add.noftz.v4.bf16 [%0], {%1, %2, %1, %2};" ::"l"(halves + 4),
               "h"((unsigned short)of_bfloat16), "h"((unsigned short)(of_bfloat16 >> 16))
               : "memory");
}
int main() {
  float2 *pairs, *old, p[16], o[32];
  float4 *fours, f;
  unsigned *halves, h[6];
  cudaMalloc(&pairs, sizeof p);
  cudaMalloc(&old, sizeof o);
  cudaMalloc(&fours, sizeof f);
  cudaMalloc(&halves, sizeof h);
  cudaMemset(pairs, 0, sizeof p);
  cudaMemset(halves, 0, sizeof h);
  cudaMemset(fours, 0, sizeof f);
  sums<<<1, 32>>>(pairs, fours, old, halves);
  cudaMemcpy(p, pairs, sizeof p, cudaMemcpyDeviceToHost);
  cudaMemcpy(o, old, sizeof o, cudaMemcpyDeviceToHost);
  cudaMemcpy(&f, fours, sizeof f, cudaMemcpyDeviceToHost);
  cudaMemcpy(h, halves, sizeof h, cudaMemcpyDeviceToHost);
  cudaFree(halves);
  cudaFree(pairs);
  cudaFree(old);
  cudaFree(fours);
  int wrong = f.x != 16 || f.y != 32 || f.z != 48 || f.w != 8;
  for (int k = 0; k < 16; ++k) wrong += p[k].x != 2.5f || p[k].y != float(4 * k + 1 - 2);
  // 32 times 1 and 2, as halves and as bfloat16.
  for (int k = 0; k < 6; ++k) wrong += h[k] != (k >= 4 ? 0x42804200u : k % 2 == 0 ? 0x54005000u : 0u);
  // One of the two lanes of a pair came first and found a value of whole additions of the other.
  for (int t = 0; t < 32; ++t) wrong += o[t].x < 0 || o[t].x > 1.25f;
  return wrong == 0 ? 0 : 3;
}
