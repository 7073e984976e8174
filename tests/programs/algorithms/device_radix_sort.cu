#include <cub/device/device_radix_sort.cuh>

#include "sorted.h"

ALGORITHM(DeviceRadixSort, SortKeys) {
  Numbers x;
  Array<int> y;
  return runs([&](void* s, size_t& b) { return cub::DeviceRadixSort::SortKeys(s, b, x.p, y.p, n); }) &&
         sorted(y, nullptr, false);
}
ALGORITHM(DeviceRadixSort, SortKeysDescending) {
  Numbers x;
  Array<int> y;
  return runs([&](void* s, size_t& b) {
           return cub::DeviceRadixSort::SortKeysDescending(s, b, x.p, y.p, n);
         }) &&
         sorted(y, nullptr, true);
}
ALGORITHM(DeviceRadixSort, SortPairs) {
  Numbers x;
  Places v;
  Array<int> y, w;
  return runs([&](void* s, size_t& b) {
           return cub::DeviceRadixSort::SortPairs(s, b, x.p, y.p, v.p, w.p, n);
         }) &&
         sorted(y, w, false);
}
ALGORITHM(DeviceRadixSort, SortPairsDescending) {
  Numbers x;
  Places v;
  Array<int> y, w;
  return runs([&](void* s, size_t& b) {
           return cub::DeviceRadixSort::SortPairsDescending(s, b, x.p, y.p, v.p, w.p, n);
         }) &&
         sorted(y, w, true);
}
