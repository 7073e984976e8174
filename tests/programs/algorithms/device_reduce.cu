#include <cub/device/device_reduce.cuh>

#include <algorithm>

#include "algorithms.h"

struct Plus {
  __host__ __device__ int operator()(int a, int b) const { return a + b; }
};
struct Square {
  __host__ __device__ int operator()(int a) const { return a % 10 * (a % 10); }
};
static int total() {
  int sum = 0;
  for (int k = 0; k < n; ++k) sum += value_at(k);
  return sum;
}
ALGORITHM(DeviceReduce, Reduce) {
  Numbers x;
  Array<int> y(1);
  return runs([&](void* s, size_t& b) { return cub::DeviceReduce::Reduce(s, b, x.p, y.p, n, Plus(), 7); }) &&
         y[0] == total() + 7;
}
ALGORITHM(DeviceReduce, Sum) {
  Numbers x;
  Array<int> y(1);
  return runs([&](void* s, size_t& b) { return cub::DeviceReduce::Sum(s, b, x.p, y.p, n); }) &&
         y[0] == total();
}
ALGORITHM(DeviceReduce, Min) {
  Numbers x;
  Array<int> y(1);
  return runs([&](void* s, size_t& b) { return cub::DeviceReduce::Min(s, b, x.p, y.p, n); }) &&
         y[0] == *std::min_element(x.p, x.p + n);
}
ALGORITHM(DeviceReduce, Max) {
  Numbers x;
  Array<int> y(1);
  return runs([&](void* s, size_t& b) { return cub::DeviceReduce::Max(s, b, x.p, y.p, n); }) &&
         y[0] == *std::max_element(x.p, x.p + n);
}
ALGORITHM(DeviceReduce, ArgMin) {
  Numbers x;
  Array<int> y(1);
  Array<long long> at(1);
  return runs([&](void* s, size_t& b) { return cub::DeviceReduce::ArgMin(s, b, x.p, y.p, at.p, n); }) &&
         x[int(at[0])] == y[0] && y[0] == *std::min_element(x.p, x.p + n);
}
ALGORITHM(DeviceReduce, ArgMax) {
  Numbers x;
  Array<int> y(1);
  Array<long long> at(1);
  return runs([&](void* s, size_t& b) { return cub::DeviceReduce::ArgMax(s, b, x.p, y.p, at.p, n); }) &&
         x[int(at[0])] == y[0] && y[0] == *std::max_element(x.p, x.p + n);
}
ALGORITHM(DeviceReduce, TransformReduce) {
  Numbers x;
  Array<int> y(1);
  int wanted = 0;
  for (int k = 0; k < n; ++k) wanted += Square()(value_at(k));
  return runs([&](void* s, size_t& b) {
           return cub::DeviceReduce::TransformReduce(s, b, x.p, y.p, n, Plus(), Square(), 0);
         }) &&
         y[0] == wanted;
}
ALGORITHM(DeviceReduce, ReduceByKey) {
  Numbers x;
  Array<int> keys, unique, sums, many(1);
  for (int k = 0; k < n; ++k) keys[k] = k / 7;
  if (!runs([&](void* s, size_t& b) {
        return cub::DeviceReduce::ReduceByKey(s, b, keys.p, unique.p, x.p, sums.p, many.p, Plus(), n);
      }))
    return false;
  for (int k = 0, i = 0; k < many[0]; ++k) {
    int sum = 0;
    for (; i < n && i / 7 == k; ++i) sum += value_at(i);
    if (unique[k] != k || sums[k] != sum) return false;
  }
  return many[0] == (n + 6) / 7;
}
