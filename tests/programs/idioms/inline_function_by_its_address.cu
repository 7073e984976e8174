// right
// A function that is always to be inlined is passed as an operation too.
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
namespace cg = cooperative_groups;
struct Range {
  float low, high;
};
__device__ __forceinline__ Range joined(Range a, Range b) {
  return {fminf(a.low, b.low), fmaxf(a.high, b.high)};
}
__global__ void k(const float* x, float* y) {
  auto warp = cg::tiled_partition<32>(cg::this_thread_block());
  Range mine{x[threadIdx.x], x[threadIdx.x]};
  mine = joined(mine, Range{x[threadIdx.x + 32], x[threadIdx.x + 32]});
  const Range all = cg::reduce(warp, mine, joined);
  if (threadIdx.x == 0) y[0] = all.low, y[1] = all.high;
}
int main() {
  float h[64], *x, *y, r[2];
  for (int i = 0; i < 64; ++i) h[i] = float((i * 29) % 64) - 5;
  cudaMalloc(&x, sizeof h);
  cudaMalloc(&y, sizeof r);
  cudaMemcpy(x, h, sizeof h, cudaMemcpyHostToDevice);
  k<<<1, 32>>>(x, y);
  cudaMemcpy(r, y, sizeof r, cudaMemcpyDeviceToHost);
  cudaFree(x);
  cudaFree(y);
  return r[0] == -5 && r[1] == 58 ? 0 : 3;
}
