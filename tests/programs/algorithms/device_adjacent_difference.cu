#include <cub/device/device_adjacent_difference.cuh>

#include "algorithms.h"

struct Minus {
  __host__ __device__ int operator()(int a, int b) const { return a - b; }
};
static bool left(int* y) {
  for (int k = 0; k < n; ++k)
    if (y[k] != (k > 0 ? value_at(k) - value_at(k - 1) : value_at(0))) return false;
  return true;
}
static bool right(int* y) {
  for (int k = 0; k < n; ++k)
    if (y[k] != (k + 1 < n ? value_at(k) - value_at(k + 1) : value_at(k))) return false;
  return true;
}
ALGORITHM(DeviceAdjacentDifference, SubtractLeftCopy) {
  Numbers x;
  Array<int> y;
  return runs([&](void* s, size_t& b) {
           return cub::DeviceAdjacentDifference::SubtractLeftCopy(s, b, x.p, y.p, n, Minus());
         }) &&
         left(y);
}
ALGORITHM(DeviceAdjacentDifference, SubtractLeft) {
  Numbers x;
  return runs([&](void* s, size_t& b) {
           return cub::DeviceAdjacentDifference::SubtractLeft(s, b, x.p, n, Minus());
         }) &&
         left(x);
}
ALGORITHM(DeviceAdjacentDifference, SubtractRightCopy) {
  Numbers x;
  Array<int> y;
  return runs([&](void* s, size_t& b) {
           return cub::DeviceAdjacentDifference::SubtractRightCopy(s, b, x.p, y.p, n, Minus());
         }) &&
         right(y);
}
ALGORITHM(DeviceAdjacentDifference, SubtractRight) {
  Numbers x;
  return runs([&](void* s, size_t& b) {
           return cub::DeviceAdjacentDifference::SubtractRight(s, b, x.p, n, Minus());
         }) &&
         right(x);
}
