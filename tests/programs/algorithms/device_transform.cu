#include <cub/device/device_transform.cuh>

#include "algorithms.h"

struct Sum {
  __host__ __device__ int operator()(int a, int b) const { return a + b; }
};
static bool sums(int* y) {
  for (int k = 0; k < n; ++k)
    if (y[k] != 2 * value_at(k)) return false;
  return true;
}
ALGORITHM(DeviceTransform, Transform) {
  Numbers x, z;
  Array<int> y;
  return cub::DeviceTransform::Transform(cuda::std::tuple<int*, int*>(x.p, z.p), y.p, n, Sum()) ==
             cudaSuccess &&
         cudaDeviceSynchronize() == cudaSuccess && sums(y);
}
ALGORITHM(DeviceTransform, TransformStableArgumentAddresses) {
  Numbers x, z;
  Array<int> y;
  return cub::DeviceTransform::TransformStableArgumentAddresses(cuda::std::tuple<int*, int*>(x.p, z.p), y.p,
                                                                n, Sum()) == cudaSuccess &&
         cudaDeviceSynchronize() == cudaSuccess && sums(y);
}
