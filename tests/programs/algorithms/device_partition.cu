#include <cub/device/device_partition.cuh>

#include "algorithms.h"

struct Odd {
  __host__ __device__ bool operator()(int x) const { return x % 2 != 0; }
};
static bool parted(int* y, int many) {
  int first = 0, last = n;
  for (int k = 0; k < n; ++k)
    if (y[Odd()(value_at(k)) ? first++ : --last] != value_at(k)) return false;
  return many == first;
}
ALGORITHM(DevicePartition, If) {
  Numbers x;
  Array<int> y, many(1);
  return runs([&](void* s, size_t& b) {
           return cub::DevicePartition::If(s, b, x.p, y.p, many.p, n, Odd());
         }) &&
         parted(y, many[0]);
}
ALGORITHM(DevicePartition, Flagged) {
  Numbers x;
  Array<int> y, many(1);
  Array<char> flags;
  for (int k = 0; k < n; ++k) flags[k] = Odd()(x[k]);
  return runs([&](void* s, size_t& b) {
           return cub::DevicePartition::Flagged(s, b, x.p, flags.p, y.p, many.p, n);
         }) &&
         parted(y, many[0]);
}
