#include <cub/device/device_run_length_encode.cuh>

#include "algorithms.h"

struct Runs : Array<int> {
  Runs() {
    for (int k = 0; k < n; ++k) p[k] = k % 10 < 3 ? k : k / 10 * 10 + 5;  // runs of one, and of seven
  }
};
ALGORITHM(DeviceRunLengthEncode, Encode) {
  Runs x;
  Array<int> unique, lengths, many(1);
  if (!runs([&](void* s, size_t& b) {
        return cub::DeviceRunLengthEncode::Encode(s, b, x.p, unique.p, lengths.p, many.p, n);
      }))
    return false;
  int at = 0;
  for (int k = 0; k < many[0]; ++k) {
    if (at >= n || lengths[k] != (at % 10 < 3 ? 1 : 7) || unique[k] != x[at]) return false;
    at += lengths[k];
  }
  return at == n;
}
ALGORITHM(DeviceRunLengthEncode, NonTrivialRuns) {
  Runs x;
  Array<int> offsets, lengths, many(1);
  if (!runs([&](void* s, size_t& b) {
        return cub::DeviceRunLengthEncode::NonTrivialRuns(s, b, x.p, offsets.p, lengths.p, many.p, n);
      }))
    return false;
  for (int k = 0; k < many[0]; ++k)
    if (offsets[k] != 10 * k + 3 || lengths[k] != 7) return false;
  return many[0] == n / 10;
}
