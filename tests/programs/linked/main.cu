// Counts numbers with a kernel of another file, and reads that file's variables.
#include <cstdio>

#include "settings.h"

int main() {
  const int list[5] = {10, 20, 40, 80, 160};
  int h[100], *x;
  unsigned left = 0, all[4];
  for (int k = 0; k < 100; ++k) h[k] = k;
  set_edges(list);
  cudaMalloc(&x, sizeof h);
  cudaMemcpy(x, h, sizeof h, cudaMemcpyHostToDevice);
  count<<<1, 128>>>(x, 100);
  cudaMemcpyFromSymbol(all, counts, sizeof all);
  cudaMemcpyFromSymbol(&left, below, sizeof left);
  cudaFree(x);
  std::printf("%u %u %u %u, %u below or above\n", all[0], all[1], all[2], all[3], left);
  return all[0] == 5 && all[1] == 10 && all[2] == 20 && all[3] == 40 && left == 25 ? 0 : 3;
}
