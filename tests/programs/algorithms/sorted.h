// Sorted keys and values of the algorithms that sort.
#pragma once

#include <algorithm>

#include "algorithms.h"

struct Less {
  __host__ __device__ bool operator()(int a, int b) const { return a < b; }
};
/// Returns whether the keys of each segment are those of Numbers in order, and the values their places.
inline bool sorted(const int* keys, const int* values, bool down, int segment = n) {
  for (int from = 0; from < n; from += segment) {
    std::vector<int> order(segment);
    std::iota(order.begin(), order.end(), from);
    std::stable_sort(order.begin(), order.end(), [&](int a, int b) {
      return down ? value_at(a) > value_at(b) : value_at(a) < value_at(b);
    });
    for (int k = 0; k < segment; ++k) {
      if (keys[from + k] != value_at(order[k])) return false;
      if (values != nullptr && value_at(values[from + k]) != keys[from + k]) return false;
    }
  }
  return true;
}
struct Places : Array<int> {
  Places() {
    for (int k = 0; k < n; ++k) p[k] = k;
  }
};
/// Where segments of 1,000 begin, and where the last one ends.
struct Segments : Array<int> {
  Segments() : Array<int>(6) {
    for (int k = 0; k < 6; ++k) p[k] = 1000 * k;
  }
};
