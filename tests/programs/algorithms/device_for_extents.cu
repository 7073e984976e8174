#include <cub/device/device_for.cuh>

#include "algorithms.h"

struct Fill {
  int* y;
  __device__ void operator()(int at, int i, int j) const { y[at] = 500 * i + j; }
};
ALGORITHM(DeviceFor, ForEachInExtents) {
  Array<int> y;
  if (cub::DeviceFor::ForEachInExtents(cuda::std::extents<int, 10, 500>{}, Fill{y.p}) != cudaSuccess ||
      cudaDeviceSynchronize() != cudaSuccess)
    return false;
  for (int k = 0; k < n; ++k)
    if (y[k] != k) return false;
  return true;
}
