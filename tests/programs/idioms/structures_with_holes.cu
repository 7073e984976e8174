// right
// Structures whose members are written one by one and that are copied as a whole, on the device and on the host.
#include <cstring>
struct Inner {
  short a;
  int b;
};
struct Outer : Inner {
  char tail;
  double weight;
  Inner more[2];
};
__global__ void fill(Outer* o) {
  Outer& mine = o[threadIdx.x];
  mine.a = 1;
  mine.b = threadIdx.x;
  mine.tail = 't';
  mine.weight = 2;
  for (Inner& i : mine.more) i.a = 3, i.b = 4;
}
__global__ void reverse(const Outer* from, Outer* to) {
  __shared__ Outer all[32];
  all[threadIdx.x] = from[threadIdx.x];
  __syncthreads();
  to[threadIdx.x] = all[31 - threadIdx.x];
}
__global__ void by_bytes(const Outer* from, Outer* to) {
  memcpy(to + threadIdx.x, from + threadIdx.x, sizeof(Outer));
}
int main() {
  Outer *a, *b, h[32];
  cudaMalloc(&a, sizeof h);
  cudaMalloc(&b, sizeof h);
  fill<<<1, 32>>>(a);
  reverse<<<1, 32>>>(a, b);
  by_bytes<<<1, 32>>>(b, a);
  cudaMemcpy(h, a, sizeof h, cudaMemcpyDeviceToHost);
  Outer one = h[31];
  cudaFree(a);
  cudaFree(b);
  return one.b == 0 && one.more[1].b == 4 ? 0 : 3;
}
