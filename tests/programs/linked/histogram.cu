// A kernel that uses another file's variables and function.
#include "settings.h"

__global__ void count(const int* x, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const int bin = bin_of(factor * x[i]);
  if (bin >= 0)
    atomicAdd(&counts[bin], 1u);
  else
    atomicAdd(&below, 1u);
}
