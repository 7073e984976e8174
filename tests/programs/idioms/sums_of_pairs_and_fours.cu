// right
// Pairs and fours of floats by one atomic, which returns the old values; the same by red.global.add in PTX.
__global__ void sums(float2* pairs, float4* fours, float2* old) {
  const unsigned t = threadIdx.x;
  const float2 before = atomicAdd(pairs + t / 2, make_float2(1, t));
  if (t % 2 == 0) atomicAdd(fours, make_float4(1, 2, 3, 0.5f));
  asm volatile("red.global.add.v2.f32 [%0], {%1, %2};" ::"l"(pairs + t / 2), "f"(0.25f), "f"(-1.0f)
               : "memory");
  old[t] = before;
}
int main() {
  float2 *pairs, *old, p[16], o[32];
  float4 *fours, f;
  cudaMalloc(&pairs, sizeof p);
  cudaMalloc(&old, sizeof o);
  cudaMalloc(&fours, sizeof f);
  cudaMemset(pairs, 0, sizeof p);
  cudaMemset(fours, 0, sizeof f);
  sums<<<1, 32>>>(pairs, fours, old);
  cudaMemcpy(p, pairs, sizeof p, cudaMemcpyDeviceToHost);
  cudaMemcpy(o, old, sizeof o, cudaMemcpyDeviceToHost);
  cudaMemcpy(&f, fours, sizeof f, cudaMemcpyDeviceToHost);
  cudaFree(pairs);
  cudaFree(old);
  cudaFree(fours);
  int wrong = f.x != 16 || f.y != 32 || f.z != 48 || f.w != 8;
  for (int k = 0; k < 16; ++k) wrong += p[k].x != 2.5f || p[k].y != float(4 * k + 1 - 2);
  // One of the two lanes of a pair came first and found a value of whole additions of the other.
  for (int t = 0; t < 32; ++t) wrong += o[t].x < 0 || o[t].x > 1.25f;
  return wrong == 0 ? 0 : 3;
}
