#include <cub/device/device_merge_sort.cuh>

#include "sorted.h"

ALGORITHM(DeviceMergeSort, SortKeys) {
  Numbers x;
  return runs([&](void* s, size_t& b) { return cub::DeviceMergeSort::SortKeys(s, b, x.p, n, Less()); }) &&
         sorted(x, nullptr, false);
}
ALGORITHM(DeviceMergeSort, SortKeysCopy) {
  Numbers x;
  Array<int> y;
  return runs([&](void* s, size_t& b) {
           return cub::DeviceMergeSort::SortKeysCopy(s, b, x.p, y.p, n, Less());
         }) &&
         sorted(y, nullptr, false);
}
ALGORITHM(DeviceMergeSort, SortPairs) {
  Numbers x;
  Places v;
  return runs([&](void* s, size_t& b) {
           return cub::DeviceMergeSort::SortPairs(s, b, x.p, v.p, n, Less());
         }) &&
         sorted(x, v, false);
}
ALGORITHM(DeviceMergeSort, SortPairsCopy) {
  Numbers x;
  Places v;
  Array<int> y, w;
  return runs([&](void* s, size_t& b) {
           return cub::DeviceMergeSort::SortPairsCopy(s, b, x.p, v.p, y.p, w.p, n, Less());
         }) &&
         sorted(y, w, false);
}
ALGORITHM(DeviceMergeSort, StableSortKeys) {
  Numbers x;
  return runs([&](void* s, size_t& b) {
           return cub::DeviceMergeSort::StableSortKeys(s, b, x.p, n, Less());
         }) &&
         sorted(x, nullptr, false);
}
ALGORITHM(DeviceMergeSort, StableSortKeysCopy) {
  Numbers x;
  Array<int> y;
  return runs([&](void* s, size_t& b) {
           return cub::DeviceMergeSort::StableSortKeysCopy(s, b, x.p, y.p, n, Less());
         }) &&
         sorted(y, nullptr, false);
}
ALGORITHM(DeviceMergeSort, StableSortPairs) {
  Numbers x;
  Places v;
  return runs([&](void* s, size_t& b) {
           return cub::DeviceMergeSort::StableSortPairs(s, b, x.p, v.p, n, Less());
         }) &&
         sorted(x, v, false);
}
