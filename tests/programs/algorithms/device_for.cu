#include <cub/device/device_for.cuh>

#include "algorithms.h"

struct Double {
  int* x;
  __device__ void operator()(int k) const { x[k] *= 2; }
};
struct DoubleIt {
  __device__ void operator()(int& x) const { x *= 2; }
};
struct Count {
  int* of;
  __device__ void operator()(int x) const { atomicAdd(of + x, 1); }
};
static bool doubled(int* x) {
  for (int k = 0; k < n; ++k)
    if (x[k] != 2 * value_at(k)) return false;
  return true;
}
static bool counted(int* counts) {
  for (int k = 0; k < n; ++k) --counts[value_at(k)];
  for (int k = 0; k < 1000; ++k)
    if (counts[k] != 0) return false;
  return true;
}
ALGORITHM(DeviceFor, Bulk) {
  Numbers x;
  return cub::DeviceFor::Bulk(n, Double{x}) == cudaSuccess && cudaDeviceSynchronize() == cudaSuccess &&
         doubled(x);
}
ALGORITHM(DeviceFor, ForEachN) {
  Numbers x;
  return cub::DeviceFor::ForEachN(x.p, n, DoubleIt()) == cudaSuccess &&
         cudaDeviceSynchronize() == cudaSuccess && doubled(x);
}
ALGORITHM(DeviceFor, ForEach) {
  Numbers x;
  return cub::DeviceFor::ForEach(x.p, x.p + n, DoubleIt()) == cudaSuccess &&
         cudaDeviceSynchronize() == cudaSuccess && doubled(x);
}
ALGORITHM(DeviceFor, ForEachCopyN) {
  Numbers x;
  Array<int> counts(1000);
  return cub::DeviceFor::ForEachCopyN(x.p, n, Count{counts}) == cudaSuccess &&
         cudaDeviceSynchronize() == cudaSuccess && counted(counts);
}
ALGORITHM(DeviceFor, ForEachCopy) {
  Numbers x;
  Array<int> counts(1000);
  return cub::DeviceFor::ForEachCopy(x.p, x.p + n, Count{counts}) == cudaSuccess &&
         cudaDeviceSynchronize() == cudaSuccess && counted(counts);
}
