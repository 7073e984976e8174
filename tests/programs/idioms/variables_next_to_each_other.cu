// right
// Variables of the device up to their last element: in namespaces, with and without values, several of one declaration, aligned, of
// structures and functions, by pointers and by symbols.
#include <cstdio>
__device__ int first[3] = {1, 2, 3}, second = 4;
__device__ char bytes[5], more[7];
namespace inner {
__device__ double third[2];
namespace {
__device__ __align__(16) float fourth[4] = {5, 6, 7, 8};
}
}  // namespace inner
static __device__ unsigned long long fifth;
struct Holder {
  int at[2];
  float4 v;
};
__device__ Holder sixth[2];
__device__ int (*seventh)(int);
__device__ int twice(int x) { return 2 * x; }
__global__ void k(int* y, const int* from) {
  const int t = threadIdx.x;
  if (t == 0) {
    for (int k = 0; k < 5; ++k) bytes[k] = char(k);
    for (int k = 0; k < 7; ++k) more[k] = bytes[k % 5];
    for (double& d : inner::third) d = 0.5;
    fifth = 9;
    for (Holder& h : sixth) h = {{1, 2}, make_float4(3, 4, 5, 6)};
    seventh = twice;
    y[0] = from[0] + from[1] + from[2] + second;
    y[1] = more[4] + more[6] + int(2 * inner::third[1]);
    y[2] = int(inner::fourth[3]) + int(fifth) + sixth[1].at[1] + int(sixth[1].v.w);
    y[3] = seventh(21);
  }
}
int main() {
  int h[4], *y, last = 0;
  void* from;
  cudaMalloc(&y, sizeof h);
  cudaGetSymbolAddress(&from, first);
  k<<<1, 32>>>(y, static_cast<const int*>(from));
  cudaMemcpy(h, y, sizeof h, cudaMemcpyDeviceToHost);
  cudaMemcpyFromSymbol(&last, first, 4, 8);
  cudaFree(y);
  std::printf("%d %d %d %d %d\n", h[0], h[1], h[2], h[3], last);
  return h[0] == 10 && h[1] == 6 && h[2] == 25 && h[3] == 42 && last == 3 ? 0 : 3;
}
