#include <cub/device/device_select.cuh>

#include "algorithms.h"

struct Odd {
  __host__ __device__ bool operator()(int x) const { return x % 2 != 0; }
};
static bool selected(int* y, int many) {
  int count = 0;
  for (int k = 0; k < n; ++k)
    if (Odd()(value_at(k)) && (count >= many || y[count++] != value_at(k))) return false;
  return count == many;
}
ALGORITHM(DeviceSelect, If) {
  Numbers x;
  Array<int> y, many(1);
  return runs([&](void* s, size_t& b) { return cub::DeviceSelect::If(s, b, x.p, y.p, many.p, n, Odd()); }) &&
         selected(y, many[0]);
}
ALGORITHM(DeviceSelect, Flagged) {
  Numbers x;
  Array<int> y, many(1);
  Array<char> flags;
  for (int k = 0; k < n; ++k) flags[k] = Odd()(x[k]);
  return runs([&](void* s, size_t& b) {
           return cub::DeviceSelect::Flagged(s, b, x.p, flags.p, y.p, many.p, n);
         }) &&
         selected(y, many[0]);
}
ALGORITHM(DeviceSelect, FlaggedIf) {
  Numbers x;
  Array<int> y, many(1);
  return runs([&](void* s, size_t& b) {
           return cub::DeviceSelect::FlaggedIf(s, b, x.p, x.p, y.p, many.p, n, Odd());
         }) &&
         selected(y, many[0]);
}
ALGORITHM(DeviceSelect, Unique) {
  Array<int> x, y, many(1);
  for (int k = 0; k < n; ++k) x[k] = k / 3;
  if (!runs([&](void* s, size_t& b) { return cub::DeviceSelect::Unique(s, b, x.p, y.p, many.p, n); }))
    return false;
  for (int k = 0; k < many[0]; ++k)
    if (y[k] != k) return false;
  return many[0] == (n + 2) / 3;
}
ALGORITHM(DeviceSelect, UniqueByKey) {
  Array<int> x, y, w, many(1);
  Numbers v;
  for (int k = 0; k < n; ++k) x[k] = k / 3;
  if (!runs([&](void* s, size_t& b) {
        return cub::DeviceSelect::UniqueByKey(s, b, x.p, v.p, y.p, w.p, many.p, n);
      }))
    return false;
  for (int k = 0; k < many[0]; ++k)
    if (y[k] != k || w[k] != value_at(3 * k)) return false;
  return many[0] == (n + 2) / 3;
}
