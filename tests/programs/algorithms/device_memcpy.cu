#include <cub/device/device_memcpy.cuh>

#include "algorithms.h"

ALGORITHM(DeviceMemcpy, Batched) {
  Numbers x;
  Array<int> y;
  Array<const void*> from(3);
  Array<void*> to(3);
  Array<int> sizes(3);
  const int begin[] = {0, 10, 2000};
  const int size[] = {10, 1990, 3000};
  for (int k = 0; k < 3; ++k) from[k] = x.p + begin[k], to[k] = y.p + begin[k], sizes[k] = 4 * size[k];
  if (!runs([&](void* s, size_t& b) { return cub::DeviceMemcpy::Batched(s, b, from.p, to.p, sizes.p, 3); }))
    return false;
  for (int k = 0; k < n; ++k)
    if (y[k] != x[k]) return false;
  return true;
}
