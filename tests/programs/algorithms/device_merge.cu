#include <cub/device/device_merge.cuh>

#include "algorithms.h"

ALGORITHM(DeviceMerge, MergeKeys) {
  Array<int> a, c, y(2 * n);
  for (int k = 0; k < n; ++k) a[k] = 2 * k, c[k] = 2 * k + 1;
  if (!runs([&](void* s, size_t& b) { return cub::DeviceMerge::MergeKeys(s, b, a.p, n, c.p, n, y.p); }))
    return false;
  for (int k = 0; k < 2 * n; ++k)
    if (y[k] != k) return false;
  return true;
}
ALGORITHM(DeviceMerge, MergePairs) {
  Array<int> a, c, y(2 * n), v, w, z(2 * n);
  for (int k = 0; k < n; ++k) a[k] = 2 * k, c[k] = 2 * k + 1, v[k] = 4 * k, w[k] = 4 * k + 2;
  if (!runs([&](void* s, size_t& b) {
        return cub::DeviceMerge::MergePairs(s, b, a.p, v.p, n, c.p, w.p, n, y.p, z.p);
      }))
    return false;
  for (int k = 0; k < 2 * n; ++k)
    if (y[k] != k || z[k] != 2 * k) return false;
  return true;
}
