#include <cub/device/device_segmented_sort.cuh>

#include "sorted.h"

ALGORITHM(DeviceSegmentedSort, SortKeys) {
  Numbers x;
  Array<int> y;
  Segments at;
  return runs([&](void* s, size_t& b) {
           return cub::DeviceSegmentedSort::SortKeys(s, b, x.p, y.p, n, 5, at.p, at.p + 1);
         }) &&
         sorted(y, nullptr, false, 1000);
}
ALGORITHM(DeviceSegmentedSort, SortKeysDescending) {
  Numbers x;
  Array<int> y;
  Segments at;
  return runs([&](void* s, size_t& b) {
           return cub::DeviceSegmentedSort::SortKeysDescending(s, b, x.p, y.p, n, 5, at.p, at.p + 1);
         }) &&
         sorted(y, nullptr, true, 1000);
}
ALGORITHM(DeviceSegmentedSort, SortPairs) {
  Numbers x;
  Places v;
  Array<int> y, w;
  Segments at;
  return runs([&](void* s, size_t& b) {
           return cub::DeviceSegmentedSort::SortPairs(s, b, x.p, y.p, v.p, w.p, n, 5, at.p, at.p + 1);
         }) &&
         sorted(y, w, false, 1000);
}
ALGORITHM(DeviceSegmentedSort, SortPairsDescending) {
  Numbers x;
  Places v;
  Array<int> y, w;
  Segments at;
  return runs([&](void* s, size_t& b) {
           return cub::DeviceSegmentedSort::SortPairsDescending(s, b, x.p, y.p, v.p, w.p, n, 5, at.p,
                                                                at.p + 1);
         }) &&
         sorted(y, w, true, 1000);
}
ALGORITHM(DeviceSegmentedSort, StableSortKeys) {
  Numbers x;
  Array<int> y;
  Segments at;
  return runs([&](void* s, size_t& b) {
           return cub::DeviceSegmentedSort::StableSortKeys(s, b, x.p, y.p, n, 5, at.p, at.p + 1);
         }) &&
         sorted(y, nullptr, false, 1000);
}
ALGORITHM(DeviceSegmentedSort, StableSortKeysDescending) {
  Numbers x;
  Array<int> y;
  Segments at;
  return runs([&](void* s, size_t& b) {
           return cub::DeviceSegmentedSort::StableSortKeysDescending(s, b, x.p, y.p, n, 5, at.p, at.p + 1);
         }) &&
         sorted(y, nullptr, true, 1000);
}
ALGORITHM(DeviceSegmentedSort, StableSortPairs) {
  Numbers x;
  Places v;
  Array<int> y, w;
  Segments at;
  return runs([&](void* s, size_t& b) {
           return cub::DeviceSegmentedSort::StableSortPairs(s, b, x.p, y.p, v.p, w.p, n, 5, at.p, at.p + 1);
         }) &&
         sorted(y, w, false, 1000);
}
ALGORITHM(DeviceSegmentedSort, StableSortPairsDescending) {
  Numbers x;
  Places v;
  Array<int> y, w;
  Segments at;
  return runs([&](void* s, size_t& b) {
           return cub::DeviceSegmentedSort::StableSortPairsDescending(s, b, x.p, y.p, v.p, w.p, n, 5, at.p,
                                                                      at.p + 1);
         }) &&
         sorted(y, w, true, 1000);
}
