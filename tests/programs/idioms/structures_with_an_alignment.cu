// right
// Structures with an alignment of their own: copied where they are aligned, in arrays, in shared and local memory, by parameters, with
// members that are used alone, and packed ones whose members are not.
#include <cstdio>
struct __align__(16) Four {
  float a, b, c, d;
};
struct alignas(8) Pair {
  int key, value;
};
struct __align__(4) Bytes {
  unsigned char at[4];
};
struct Wide {
  Four low, high;
} __attribute__((aligned(32)));
__constant__ Pair table[4];
__global__ void k(const Four* x, const float* odd, float* y, Four by_value, Wide wide) {
  __shared__ Four s[32];
  __shared__ Bytes bytes[33];
  const int t = threadIdx.x;
  Four mine = x[t];
  mine.a += by_value.d;
  s[t] = mine;
  Bytes b;
  for (int k = 0; k < 4; ++k) b.at[k] = t + k;
  bytes[t + 1] = b;
  Pair local[3];
  for (int k = 0; k < 3; ++k) local[k] = table[(t + k) % 4];
  __syncthreads();
  const Four other = s[31 - t];
  const Pair p = local[t % 3];
  // A member of what would not be aligned as a whole.
  const float member = reinterpret_cast<const Four*>(odd + t)->b;
  y[t] = other.a + other.d + p.key + bytes[t + 1].at[3] + wide.high.c + member;
}
int main() {
  Four h[32];
  Pair pairs[4];
  float odd[64], r[32], *y, *o;
  Four* x;
  for (int k = 0; k < 32; ++k) h[k] = {float(k), 1, 2, 3};
  for (int k = 0; k < 4; ++k) pairs[k] = {10 * k, k};
  for (int k = 0; k < 64; ++k) odd[k] = float(k);
  cudaMalloc(&x, sizeof h);
  cudaMalloc(&y, sizeof r);
  cudaMalloc(&o, sizeof odd);
  cudaMemcpy(x, h, sizeof h, cudaMemcpyHostToDevice);
  cudaMemcpy(o, odd, sizeof odd, cudaMemcpyHostToDevice);
  cudaMemcpyToSymbol(table, pairs, sizeof pairs);
  Wide wide = {};
  wide.high.c = 1000;
  k<<<1, 32>>>(x, o, y, h[7], wide);
  cudaMemcpy(r, y, sizeof r, cudaMemcpyDeviceToHost);
  cudaFree(x);
  cudaFree(y);
  cudaFree(o);
  int wrong = 0;
  for (int t = 0; t < 32; ++t) {
    const float wanted = float(31 - t + 3 + 3 + 10 * ((t + t % 3) % 4) + t + 3 + 1000 + t + 1);
    wrong += r[t] != wanted && std::printf("%d: %g, not %g\n", t, r[t], wanted);
  }
  return wrong == 0 ? 0 : 3;
}
