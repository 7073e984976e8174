#include <cub/device/device_histogram.cuh>

#include "algorithms.h"

static bool tens(int* bins, int from, int step) {
  int wanted[10] = {};
  for (int k = from; k < n; k += step) ++wanted[value_at(k) / 100];
  for (int k = 0; k < 10; ++k)
    if (bins[k] != wanted[k]) return false;
  return true;
}
struct Levels : Array<int> {
  Levels() : Array<int>(11) {
    for (int k = 0; k < 11; ++k) p[k] = 100 * k;
  }
};
ALGORITHM(DeviceHistogram, HistogramEven) {
  Numbers x;
  Array<int> bins(10);
  return runs([&](void* s, size_t& b) {
           return cub::DeviceHistogram::HistogramEven(s, b, x.p, bins.p, 11, 0, 1000, n);
         }) &&
         tens(bins, 0, 1);
}
ALGORITHM(DeviceHistogram, HistogramRange) {
  Numbers x;
  Levels levels;
  Array<int> bins(10);
  return runs([&](void* s, size_t& b) {
           return cub::DeviceHistogram::HistogramRange(s, b, x.p, bins.p, 11, levels.p, n);
         }) &&
         tens(bins, 0, 1);
}
ALGORITHM(DeviceHistogram, MultiHistogramEven) {
  Numbers x;
  Array<int> first(10), second(10);
  int* bins[2] = {first, second};
  const int levels[2] = {11, 11}, low[2] = {0, 0}, high[2] = {1000, 1000};
  return runs([&](void* s, size_t& b) {
           return cub::DeviceHistogram::MultiHistogramEven<2, 2>(s, b, x.p, bins, levels, low, high, n / 2);
         }) &&
         tens(first, 0, 2) && tens(second, 1, 2);
}
ALGORITHM(DeviceHistogram, MultiHistogramRange) {
  Numbers x;
  Levels a, c;
  Array<int> first(10), second(10);
  int* bins[2] = {first, second};
  const int levels[2] = {11, 11};
  const int* const bounds[2] = {a, c};
  return runs([&](void* s, size_t& b) {
           return cub::DeviceHistogram::MultiHistogramRange<2, 2>(s, b, x.p, bins, levels, bounds, n / 2);
         }) &&
         tens(first, 0, 2) && tens(second, 1, 2);
}
