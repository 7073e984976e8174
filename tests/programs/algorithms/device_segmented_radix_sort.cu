#include <cub/device/device_segmented_radix_sort.cuh>

#include "sorted.h"

ALGORITHM(DeviceSegmentedRadixSort, SortKeys) {
  Numbers x;
  Array<int> y;
  Segments at;
  return runs([&](void* s, size_t& b) {
           return cub::DeviceSegmentedRadixSort::SortKeys(s, b, x.p, y.p, n, 5, at.p, at.p + 1);
         }) &&
         sorted(y, nullptr, false, 1000);
}
ALGORITHM(DeviceSegmentedRadixSort, SortKeysDescending) {
  Numbers x;
  Array<int> y;
  Segments at;
  return runs([&](void* s, size_t& b) {
           return cub::DeviceSegmentedRadixSort::SortKeysDescending(s, b, x.p, y.p, n, 5, at.p, at.p + 1);
         }) &&
         sorted(y, nullptr, true, 1000);
}
ALGORITHM(DeviceSegmentedRadixSort, SortPairs) {
  Numbers x;
  Places v;
  Array<int> y, w;
  Segments at;
  return runs([&](void* s, size_t& b) {
           return cub::DeviceSegmentedRadixSort::SortPairs(s, b, x.p, y.p, v.p, w.p, n, 5, at.p, at.p + 1);
         }) &&
         sorted(y, w, false, 1000);
}
ALGORITHM(DeviceSegmentedRadixSort, SortPairsDescending) {
  Numbers x;
  Places v;
  Array<int> y, w;
  Segments at;
  return runs([&](void* s, size_t& b) {
           return cub::DeviceSegmentedRadixSort::SortPairsDescending(s, b, x.p, y.p, v.p, w.p, n, 5, at.p,
                                                                     at.p + 1);
         }) &&
         sorted(y, w, true, 1000);
}
