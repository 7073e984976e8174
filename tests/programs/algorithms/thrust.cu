// Thrust's algorithms on vectors of the device.
#include <thrust/adjacent_difference.h>
#include <thrust/binary_search.h>
#include <thrust/copy.h>
#include <thrust/count.h>
#include <thrust/device_vector.h>
#include <thrust/equal.h>
#include <thrust/extrema.h>
#include <thrust/fill.h>
#include <thrust/find.h>
#include <thrust/for_each.h>
#include <thrust/functional.h>
#include <thrust/gather.h>
#include <thrust/generate.h>
#include <thrust/host_vector.h>
#include <thrust/inner_product.h>
#include <thrust/logical.h>
#include <thrust/merge.h>
#include <thrust/mismatch.h>
#include <thrust/partition.h>
#include <thrust/random.h>
#include <thrust/reduce.h>
#include <thrust/remove.h>
#include <thrust/replace.h>
#include <thrust/reverse.h>
#include <thrust/scan.h>
#include <thrust/scatter.h>
#include <thrust/sequence.h>
#include <thrust/set_operations.h>
#include <thrust/shuffle.h>
#include <thrust/sort.h>
#include <thrust/swap.h>
#include <thrust/tabulate.h>
#include <thrust/transform.h>
#include <thrust/transform_reduce.h>
#include <thrust/transform_scan.h>
#include <thrust/uninitialized_copy.h>
#include <thrust/uninitialized_fill.h>
#include <thrust/unique.h>

#include <algorithm>

#include "algorithms.h"

using Device = thrust::device_vector<int>;
using Host = std::vector<int>;
struct Odd {
  __host__ __device__ bool operator()(int x) const { return x % 2 != 0; }
};
struct Small {
  __host__ __device__ bool operator()(int x) const { return x < 1000; }
};
struct Twice {
  __host__ __device__ int operator()(int x) const { return 2 * x; }
};
struct Add {
  __host__ __device__ int operator()(int a, int b) const { return a + b; }
};
struct Seven {
  __host__ __device__ int operator()() const { return 7; }
};
struct Grow {
  __host__ __device__ void operator()(int& x) const { ++x; }
};
static Host numbers() {
  Host x;
  for (int k = 0; k < n; ++k) x.push_back(value_at(k));
  return x;
}
static Host in_order() {
  Host x = numbers();
  std::sort(x.begin(), x.end());
  return x;
}
static Host multiples(int of, int many = n) {
  Host x;
  for (int k = 0; k < many; ++k) x.push_back(of * k);
  return x;
}
static bool same(const Device& x, const Host& y) {
  Host h(x.size());
  thrust::copy(x.begin(), x.end(), h.begin());
  return h == y;
}
#define ALL(x) x.begin(), x.end()
#define THRUST(name) ALGORITHM(thrust, name)

THRUST(copy) {
  Device x = numbers(), y(n);
  thrust::copy(ALL(x), y.begin());
  return same(y, numbers());
}
THRUST(copy_n) {
  Device x = numbers(), y(n);
  thrust::copy_n(x.begin(), n, y.begin());
  return same(y, numbers());
}
THRUST(copy_if) {
  Device x = numbers(), y(n);
  y.resize(thrust::copy_if(ALL(x), y.begin(), Odd()) - y.begin());
  Host h;
  for (const int v : numbers())
    if (Odd()(v)) h.push_back(v);
  return same(y, h);
}
THRUST(swap_ranges) {
  Device x = numbers(), y(n, 1);
  thrust::swap_ranges(ALL(x), y.begin());
  return same(y, numbers()) && same(x, Host(n, 1));
}
THRUST(uninitialized_copy) {
  Device x = numbers(), y(n);
  thrust::uninitialized_copy(ALL(x), y.begin());
  return same(y, numbers());
}
THRUST(uninitialized_fill) {
  Device y(n);
  thrust::uninitialized_fill(ALL(y), 3);
  return same(y, Host(n, 3));
}
THRUST(uninitialized_copy_n) {
  Device x = numbers(), y(n);
  thrust::uninitialized_copy_n(x.begin(), n, y.begin());
  return same(y, numbers());
}
THRUST(uninitialized_fill_n) {
  Device y(n);
  thrust::uninitialized_fill_n(y.begin(), n, 3);
  return same(y, Host(n, 3));
}
THRUST(fill) {
  Device y(n);
  thrust::fill(ALL(y), 3);
  return same(y, Host(n, 3));
}
THRUST(fill_n) {
  Device y(n);
  thrust::fill_n(y.begin(), n, 3);
  return same(y, Host(n, 3));
}
THRUST(sequence) {
  Device y(n);
  thrust::sequence(ALL(y), 0, 2);
  return same(y, multiples(2));
}
THRUST(tabulate) {
  Device y(n);
  thrust::tabulate(ALL(y), Twice());
  return same(y, multiples(2));
}
THRUST(generate) {
  Device y(n);
  thrust::generate(ALL(y), Seven());
  return same(y, Host(n, 7));
}
THRUST(generate_n) {
  Device y(n);
  thrust::generate_n(y.begin(), n, Seven());
  return same(y, Host(n, 7));
}
THRUST(for_each) {
  Device x = multiples(1);
  thrust::for_each(ALL(x), Grow());
  Host h = multiples(1);
  for (int& v : h) ++v;
  return same(x, h);
}
THRUST(for_each_n) {
  Device x = multiples(1);
  thrust::for_each_n(x.begin(), n, Grow());
  Host h = multiples(1);
  for (int& v : h) ++v;
  return same(x, h);
}
THRUST(transform) {
  Device x = multiples(1), y(n);
  thrust::transform(ALL(x), y.begin(), Twice());
  return same(y, multiples(2));
}
THRUST(transform_if) {
  Device x = numbers(), y(n, -1);
  thrust::transform_if(ALL(x), y.begin(), Twice(), Odd());
  Host h;
  for (const int v : numbers()) h.push_back(Odd()(v) ? 2 * v : -1);
  return same(y, h);
}
THRUST(adjacent_difference) {
  Device x = multiples(3), y(n);
  thrust::adjacent_difference(ALL(x), y.begin());
  Host h(n, 3);
  h[0] = 0;
  return same(y, h);
}
THRUST(replace) {
  Device x = multiples(1);
  thrust::replace(ALL(x), 5, 50);
  Host h = multiples(1);
  h[5] = 50;
  return same(x, h);
}
THRUST(replace_if) {
  Device x = numbers();
  thrust::replace_if(ALL(x), Odd(), 0);
  Host h = numbers();
  std::replace_if(ALL(h), Odd(), 0);
  return same(x, h);
}
THRUST(replace_copy) {
  Device x = multiples(1), y(n);
  thrust::replace_copy(ALL(x), y.begin(), 5, 50);
  Host h = multiples(1);
  h[5] = 50;
  return same(y, h);
}
THRUST(replace_copy_if) {
  Device x = numbers(), y(n);
  thrust::replace_copy_if(ALL(x), y.begin(), Odd(), 0);
  Host h = numbers();
  std::replace_if(ALL(h), Odd(), 0);
  return same(y, h);
}
THRUST(reverse) {
  Device x = numbers();
  thrust::reverse(ALL(x));
  Host h = numbers();
  std::reverse(ALL(h));
  return same(x, h);
}
THRUST(reverse_copy) {
  Device x = numbers(), y(n);
  thrust::reverse_copy(ALL(x), y.begin());
  Host h = numbers();
  std::reverse(ALL(h));
  return same(y, h);
}
THRUST(gather) {
  Device x = multiples(2), map = numbers(), y(n);
  thrust::gather(ALL(map), x.begin(), y.begin());
  Host h = numbers();
  for (int& v : h) v *= 2;
  return same(y, h);
}
THRUST(gather_if) {
  Device x = multiples(2), map = numbers(), y(n, -1);
  thrust::gather_if(ALL(map), map.begin(), x.begin(), y.begin(), Odd());
  Host h;
  for (const int v : numbers()) h.push_back(Odd()(v) ? 2 * v : -1);
  return same(y, h);
}
THRUST(scatter) {
  Device x = multiples(2), map = multiples(1), y(n);
  thrust::reverse(ALL(map));
  thrust::scatter(ALL(x), map.begin(), y.begin());
  thrust::reverse(ALL(y));
  return same(y, multiples(2));
}
THRUST(scatter_if) {
  Device x = multiples(2), map = multiples(1), y(n, -1);
  thrust::scatter_if(ALL(x), map.begin(), map.begin(), y.begin(), Odd());
  Host h;
  for (int k = 0; k < n; ++k) h.push_back(k % 2 ? 2 * k : -1);
  return same(y, h);
}
THRUST(reduce) {
  Device x = numbers();
  const Host h = numbers();
  return thrust::reduce(ALL(x)) == std::accumulate(ALL(h), 0);
}
THRUST(reduce_by_key) {
  Device x(n, 1), keys = multiples(1), unique(n), sums(n);
  thrust::transform(ALL(keys), keys.begin(), Small());
  const auto ends = thrust::reduce_by_key(ALL(keys), x.begin(), unique.begin(), sums.begin());
  return ends.first - unique.begin() == 2 && sums[0] == 1000 && sums[1] == n - 1000;
}
THRUST(transform_reduce) {
  Device x = numbers();
  const Host h = numbers();
  return thrust::transform_reduce(ALL(x), Twice(), 0, Add()) == 2 * std::accumulate(ALL(h), 0);
}
THRUST(inner_product) {
  Device x = numbers(), y(n, 2);
  const Host h = numbers();
  return thrust::inner_product(ALL(x), y.begin(), 0) == 2 * std::accumulate(ALL(h), 0);
}
THRUST(count) {
  Device x = numbers();
  const Host h = numbers();
  return thrust::count(ALL(x), h[3]) == std::count(ALL(h), h[3]);
}
THRUST(count_if) {
  Device x = numbers();
  const Host h = numbers();
  return thrust::count_if(ALL(x), Odd()) == std::count_if(ALL(h), Odd());
}
THRUST(min_element) {
  Device x = numbers();
  const Host h = numbers();
  return thrust::min_element(ALL(x)) - x.begin() == std::min_element(ALL(h)) - h.begin();
}
THRUST(max_element) {
  Device x = numbers();
  const Host h = numbers();
  return thrust::max_element(ALL(x)) - x.begin() == std::max_element(ALL(h)) - h.begin();
}
THRUST(minmax_element) {
  Device x = numbers();
  const Host h = numbers();
  const auto both = thrust::minmax_element(ALL(x));
  return *both.first == *std::min_element(ALL(h)) && *both.second == *std::max_element(ALL(h));
}
THRUST(all_of) {
  Device x = numbers();
  return thrust::all_of(ALL(x), Small()) && !thrust::all_of(ALL(x), Odd());
}
THRUST(any_of) {
  Device x = numbers();
  return thrust::any_of(ALL(x), Odd());
}
THRUST(none_of) {
  Device x = multiples(2);
  return thrust::none_of(ALL(x), Odd());
}
THRUST(equal) {
  Device x = numbers(), y = numbers();
  return thrust::equal(ALL(x), y.begin());
}
THRUST(mismatch) {
  Device x = numbers(), y = numbers();
  y[77] = -1;
  return thrust::mismatch(ALL(x), y.begin()).first - x.begin() == 77;
}
THRUST(find) {
  Device x = multiples(1);
  return thrust::find(ALL(x), 77) - x.begin() == 77;
}
THRUST(find_if) {
  Device x = multiples(1);
  return thrust::find_if(ALL(x), Odd()) - x.begin() == 1;
}
THRUST(find_if_not) {
  Device x = multiples(1);
  return thrust::find_if_not(ALL(x), Small()) - x.begin() == 1000;
}
THRUST(inclusive_scan) {
  Device x(n, 2), y(n);
  thrust::inclusive_scan(ALL(x), y.begin());
  Host h = multiples(2);
  for (int& v : h) v += 2;
  return same(y, h);
}
THRUST(exclusive_scan) {
  Device x(n, 2), y(n);
  thrust::exclusive_scan(ALL(x), y.begin());
  return same(y, multiples(2));
}
THRUST(transform_inclusive_scan) {
  Device x(n, 1), y(n);
  thrust::transform_inclusive_scan(ALL(x), y.begin(), Twice(), Add());
  Host h = multiples(2);
  for (int& v : h) v += 2;
  return same(y, h);
}
THRUST(transform_exclusive_scan) {
  Device x(n, 1), y(n);
  thrust::transform_exclusive_scan(ALL(x), y.begin(), Twice(), 0, Add());
  return same(y, multiples(2));
}
static Host counted_in_tens(int first) {
  Host h;
  for (int k = 0; k < n; ++k) h.push_back(k % 10 + first);
  return h;
}
static Device tens() {
  Host h;
  for (int k = 0; k < n; ++k) h.push_back(k / 10);
  return h;
}
THRUST(inclusive_scan_by_key) {
  Device x(n, 1), keys = tens(), y(n);
  thrust::inclusive_scan_by_key(ALL(keys), x.begin(), y.begin());
  return same(y, counted_in_tens(1));
}
THRUST(exclusive_scan_by_key) {
  Device x(n, 1), keys = tens(), y(n);
  thrust::exclusive_scan_by_key(ALL(keys), x.begin(), y.begin());
  return same(y, counted_in_tens(0));
}
THRUST(sort) {
  Device x = numbers();
  thrust::sort(ALL(x));
  return same(x, in_order());
}
THRUST(stable_sort) {
  Device x = numbers();
  thrust::stable_sort(ALL(x));
  return same(x, in_order());
}
THRUST(sort_by_key) {
  Device x = numbers(), v = numbers();
  thrust::sort_by_key(ALL(x), v.begin());
  return same(x, in_order()) && same(v, in_order());
}
THRUST(stable_sort_by_key) {
  Device x = numbers(), v = numbers();
  thrust::stable_sort_by_key(ALL(x), v.begin());
  return same(x, in_order()) && same(v, in_order());
}
THRUST(is_sorted) {
  Device x = numbers(), y = in_order();
  return !thrust::is_sorted(ALL(x)) && thrust::is_sorted(ALL(y));
}
THRUST(is_sorted_until) {
  Device x = multiples(1);
  x[77] = 0;
  return thrust::is_sorted_until(ALL(x)) - x.begin() == 77;
}
THRUST(merge) {
  Device a = multiples(2), b = multiples(2), y(2 * n);
  thrust::for_each(ALL(b), Grow());
  thrust::merge(ALL(a), ALL(b), y.begin());
  return same(y, multiples(1, 2 * n));
}
THRUST(merge_by_key) {
  Device a = multiples(2), b = multiples(2), y(2 * n), z(2 * n);
  thrust::for_each(ALL(b), Grow());
  thrust::merge_by_key(ALL(a), ALL(b), a.begin(), b.begin(), y.begin(), z.begin());
  return same(y, multiples(1, 2 * n)) && same(z, multiples(1, 2 * n));
}
THRUST(partition) {
  Device x = numbers();
  const Host h = numbers();
  const auto end = thrust::partition(ALL(x), Odd());
  return end - x.begin() == std::count_if(ALL(h), Odd()) && thrust::all_of(x.begin(), end, Odd()) &&
         thrust::none_of(end, x.end(), Odd());
}
THRUST(stable_partition) {
  Device x = numbers();
  Host h = numbers();
  thrust::stable_partition(ALL(x), Odd());
  std::stable_partition(ALL(h), Odd());
  return same(x, h);
}
THRUST(partition_copy) {
  Device x = numbers(), a(n), b(n);
  const Host h = numbers();
  const auto ends = thrust::partition_copy(ALL(x), a.begin(), b.begin(), Odd());
  return ends.first - a.begin() == std::count_if(ALL(h), Odd()) &&
         thrust::all_of(a.begin(), ends.first, Odd());
}
THRUST(stable_partition_copy) {
  Device x = numbers(), a(n), b(n);
  const Host h = numbers();
  const auto ends = thrust::stable_partition_copy(ALL(x), a.begin(), b.begin(), Odd());
  return ends.second - b.begin() == n - std::count_if(ALL(h), Odd()) &&
         thrust::none_of(b.begin(), ends.second, Odd());
}
THRUST(partition_point) {
  Device x = multiples(1);
  return thrust::partition_point(ALL(x), Small()) - x.begin() == 1000;
}
THRUST(is_partitioned) {
  Device x = multiples(1);
  return thrust::is_partitioned(ALL(x), Small()) && !thrust::is_partitioned(ALL(x), Odd());
}
THRUST(remove) {
  Device x = multiples(1);
  return thrust::remove(ALL(x), 5) - x.begin() == n - 1 && x[5] == 6;
}
THRUST(remove_if) {
  Device x = numbers();
  Host h = numbers();
  x.resize(thrust::remove_if(ALL(x), Odd()) - x.begin());
  h.erase(std::remove_if(ALL(h), Odd()), h.end());
  return same(x, h);
}
THRUST(remove_copy) {
  Device x = multiples(1), y(n);
  return thrust::remove_copy(ALL(x), y.begin(), 5) - y.begin() == n - 1 && y[5] == 6;
}
THRUST(remove_copy_if) {
  Device x = numbers(), y(n);
  Host h = numbers();
  y.resize(thrust::remove_copy_if(ALL(x), y.begin(), Odd()) - y.begin());
  h.erase(std::remove_if(ALL(h), Odd()), h.end());
  return same(y, h);
}
THRUST(unique) {
  Device x = tens();
  x.resize(thrust::unique(ALL(x)) - x.begin());
  return same(x, multiples(1, n / 10));
}
THRUST(unique_copy) {
  Device x = tens(), y(n);
  y.resize(thrust::unique_copy(ALL(x), y.begin()) - y.begin());
  return same(y, multiples(1, n / 10));
}
THRUST(unique_by_key) {
  Device x = tens(), v = multiples(1);
  const auto ends = thrust::unique_by_key(ALL(x), v.begin());
  x.resize(ends.first - x.begin()), v.resize(ends.second - v.begin());
  return same(x, multiples(1, n / 10)) && same(v, multiples(10, n / 10));
}
THRUST(unique_by_key_copy) {
  Device x = tens(), v = multiples(1), y(n), w(n);
  const auto ends = thrust::unique_by_key_copy(ALL(x), v.begin(), y.begin(), w.begin());
  y.resize(ends.first - y.begin()), w.resize(ends.second - w.begin());
  return same(y, multiples(1, n / 10)) && same(w, multiples(10, n / 10));
}
THRUST(unique_count) {
  Device x = tens();
  return thrust::unique_count(ALL(x)) == n / 10;
}
THRUST(lower_bound) {
  Device x = multiples(2);
  return thrust::lower_bound(ALL(x), 77) - x.begin() == 39;
}
THRUST(upper_bound) {
  Device x = multiples(2);
  return thrust::upper_bound(ALL(x), 76) - x.begin() == 39;
}
THRUST(equal_range) {
  Device x = multiples(2);
  const auto both = thrust::equal_range(ALL(x), 76);
  return both.first - x.begin() == 38 && both.second - x.begin() == 39;
}
THRUST(binary_search) {
  Device x = multiples(2);
  return thrust::binary_search(ALL(x), 76) && !thrust::binary_search(ALL(x), 77);
}
#define SETS(name, wanted)                                               \
  THRUST(name) {                                                         \
    Device a = multiples(2), b = multiples(3), y(2 * n);                 \
    const Host c = multiples(2), d = multiples(3);                       \
    y.resize(thrust::name(ALL(a), ALL(b), y.begin()) - y.begin());       \
    Host h(2 * n);                                                       \
    h.resize(std::name(ALL(c), ALL(d), h.begin()) - h.begin());          \
    return same(y, h);                                                   \
  }                                                                      \
  THRUST(name##_by_key) {                                                \
    Device a = multiples(2), b = multiples(3), y(2 * n), z(2 * n);       \
    const Host c = multiples(2), d = multiples(3);                       \
    const auto ends = thrust::name##_by_key(wanted);                     \
    y.resize(ends.first - y.begin()), z.resize(ends.second - z.begin()); \
    Host h(2 * n);                                                       \
    h.resize(std::name(ALL(c), ALL(d), h.begin()) - h.begin());          \
    return same(y, h) && same(z, h);                                     \
  }
#define BOTH ALL(a), ALL(b), a.begin(), b.begin(), y.begin(), z.begin()
SETS(set_union, BOTH)
SETS(set_difference, BOTH)
SETS(set_symmetric_difference, BOTH)
#define FIRST ALL(a), ALL(b), a.begin(), y.begin(), z.begin()
SETS(set_intersection, FIRST)
THRUST(shuffle) {
  Device x = multiples(1);
  thrust::shuffle(ALL(x), thrust::default_random_engine(3));
  const bool moved = !same(x, multiples(1));
  thrust::sort(ALL(x));
  return moved && same(x, multiples(1));
}
THRUST(shuffle_copy) {
  Device x = multiples(1), y(n);
  thrust::shuffle_copy(ALL(x), y.begin(), thrust::default_random_engine(3));
  const bool moved = !same(y, multiples(1));
  thrust::sort(ALL(y));
  return moved && same(y, multiples(1));
}
