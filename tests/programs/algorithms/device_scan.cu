#include <cub/device/device_scan.cuh>

#include "algorithms.h"

struct Plus {
  __host__ __device__ int operator()(int a, int b) const { return a + b; }
};
/// Returns whether y holds sums over runs of `run` numbers, from `first` on.
static bool summed(int* y, bool inclusive, int first, int run = n) {
  int sum = 0;
  for (int k = 0; k < n; ++k) {
    if (k % run == 0) sum = first;
    const int before = sum;
    sum += value_at(k);
    if (y[k] != (inclusive ? sum : before)) return false;
  }
  return true;
}
struct Keys : Array<int> {
  Keys() {
    for (int k = 0; k < n; ++k) p[k] = k / 50;
  }
};
#define SCAN(name, inclusive, first, ...)                                                                  \
  ALGORITHM(DeviceScan, name) {                                                                            \
    Numbers x;                                                                                             \
    Array<int> y;                                                                                          \
    return runs([&](void* s, size_t& b) { return cub::DeviceScan::name(s, b, x.p, y.p, __VA_ARGS__); }) && \
           summed(y, inclusive, first);                                                                    \
  }
#define SCAN_BY_KEY(name, inclusive, first, ...)                                \
  ALGORITHM(DeviceScan, name) {                                                 \
    Numbers x;                                                                  \
    Keys keys;                                                                  \
    Array<int> y;                                                               \
    return runs([&](void* s, size_t& b) {                                       \
             return cub::DeviceScan::name(s, b, keys.p, x.p, y.p, __VA_ARGS__); \
           }) &&                                                                \
           summed(y, inclusive, first, 50);                                     \
  }
SCAN(ExclusiveSum, false, 0, n)
SCAN(InclusiveSum, true, 0, n)
SCAN(ExclusiveScan, false, 7, Plus(), 7, n)
SCAN(InclusiveScan, true, 0, Plus(), n)
SCAN(InclusiveScanInit, true, 7, Plus(), 7, n)
SCAN_BY_KEY(ExclusiveSumByKey, false, 0, n)
SCAN_BY_KEY(InclusiveSumByKey, true, 0, n)
SCAN_BY_KEY(ExclusiveScanByKey, false, 7, Plus(), 7, n)
SCAN_BY_KEY(InclusiveScanByKey, true, 0, Plus(), n)
