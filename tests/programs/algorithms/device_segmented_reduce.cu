#include <cub/device/device_segmented_reduce.cuh>

#include <algorithm>

#include "sorted.h"

struct Plus {
  __host__ __device__ int operator()(int a, int b) const { return a + b; }
};
template <class F>
static bool each(F wanted) {
  for (int k = 0; k < 5; ++k) {
    std::vector<int> part;
    for (int i = 0; i < 1000; ++i) part.push_back(value_at(1000 * k + i));
    if (!wanted(k, part)) return false;
  }
  return true;
}
static int least(const std::vector<int>& x) { return *std::min_element(x.begin(), x.end()); }
static int most(const std::vector<int>& x) { return *std::max_element(x.begin(), x.end()); }
static int sum(const std::vector<int>& x) { return std::accumulate(x.begin(), x.end(), 0); }
#define SEGMENTED(name, wanted, ...)                                                                 \
  ALGORITHM(DeviceSegmentedReduce, name) {                                                           \
    Numbers x;                                                                                       \
    Segments at;                                                                                     \
    Array<int> y(5);                                                                                 \
    return runs([&](void* s, size_t& b) {                                                            \
             return cub::DeviceSegmentedReduce::name(s, b, x.p, y.p, 5, at.p, at.p + 1 __VA_ARGS__); \
           }) &&                                                                                     \
           each([&](int k, const std::vector<int>& part) { return y[k] == wanted; });                \
  }
SEGMENTED(Sum, sum(part))
SEGMENTED(Min, least(part))
SEGMENTED(Max, most(part))
SEGMENTED(Reduce, sum(part) + 7, , Plus(), 7)
#define SEGMENTED_PLACE(name, wanted)                                                    \
  ALGORITHM(DeviceSegmentedReduce, name) {                                               \
    Numbers x;                                                                           \
    Segments at;                                                                         \
    Array<cub::KeyValuePair<int, int>> y(5);                                             \
    return runs([&](void* s, size_t& b) {                                                \
             return cub::DeviceSegmentedReduce::name(s, b, x.p, y.p, 5, at.p, at.p + 1); \
           }) &&                                                                         \
           each([&](int k, const std::vector<int>& part) {                               \
             return y[k].value == wanted && part[y[k].key] == y[k].value;                \
           });                                                                           \
  }
SEGMENTED_PLACE(ArgMin, least(part))
SEGMENTED_PLACE(ArgMax, most(part))
