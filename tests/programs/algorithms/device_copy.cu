#include <cub/device/device_copy.cuh>

#include "algorithms.h"

ALGORITHM(DeviceCopy, Batched) {
  Numbers x;
  Array<int> y;
  Array<const int*> from(3);
  Array<int*> to(3);
  Array<int> sizes(3);
  const int begin[] = {0, 10, 2000};
  const int size[] = {10, 1990, 3000};
  for (int k = 0; k < 3; ++k) from[k] = x.p + begin[k], to[k] = y.p + begin[k], sizes[k] = size[k];
  if (!runs([&](void* s, size_t& b) { return cub::DeviceCopy::Batched(s, b, from.p, to.p, sizes.p, 3); }))
    return false;
  for (int k = 0; k < n; ++k)
    if (y[k] != x[k]) return false;
  return true;
}
