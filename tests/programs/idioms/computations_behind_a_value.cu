// right
// Variables that are declared without a value and set in other ways than by an assignment, before anything computes with them.
#include <cstdio>
__device__ void set(int& v) { v = 1; }
__device__ void set_by_address(float* v) { *v = 2; }
struct Pair {
  int a, b;
  __device__ void begin() { a = b = 3; }
};
struct Counter {
  int n;
  __device__ Counter() : n(4) {}
  __device__ Counter& operator+=(int by) {
    n += by;
    return *this;
  }
};
__device__ int lane_of_warp() {
  int lane;
  asm("mov.u32 %0, %%laneid;" : "=r"(lane));
  return lane + 1;
}
__global__ void k(int* y) {
  int v, w, first;
  int* const at = &first;
  float f;
  Pair p;
  Counter c;
  set(v);
  v += 10;
  set_by_address(&f);
  f *= 2;
  p.begin();
  p.a += 10;
  c += 10;
  *at = 5;
  first++;
  int sums[4];
  int* const all = sums;
  for (int k = 0; k < 4; ++k) all[k] = k;
  sums[3] += 10;
  for (w = 0; w < 3; ++w) v += w;
  int a, b;
  a = b = 6;
  b += a;
  const auto add = [&](int by) { return v += by; };
  int later;
  for (int round = 0; round < 3; ++round) {
    if (round > 0) later += round;
    if (round == 0) later = 7;
  }
  {
    int v = 8;
    v += 1;
    y[8] = v;
  }
  y[0] = add(100);
  y[1] = int(f);
  y[2] = p.a + p.b;
  y[3] = c.n;
  y[4] = first;
  y[5] = sums[3];
  y[6] = b;
  y[7] = later;
  y[9] = lane_of_warp();
}
int main() {
  const int wanted[10] = {114, 4, 16, 14, 6, 13, 12, 10, 9, 1};
  int h[10], *y, wrong = 0;
  cudaMalloc(&y, sizeof h);
  k<<<1, 1>>>(y);
  cudaMemcpy(h, y, sizeof h, cudaMemcpyDeviceToHost);
  for (int k = 0; k < 10; ++k)
    wrong += h[k] != wanted[k] && std::printf("%d: %d, not %d\n", k, h[k], wanted[k]);
  cudaFree(y);
  return wrong == 0 ? 0 : 3;
}
