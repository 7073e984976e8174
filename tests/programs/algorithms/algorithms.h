// What the programs of this folder share: each calls public algorithms of CUB or Thrust, one a function, and compares with loops. With a
// name as its argument a program runs that algorithm only; without one it prints the names of all.
#pragma once

#include <cstdio>
#include <cstring>
#include <numeric>
#include <vector>

struct Algorithm {
  const char* name;
  bool (*is_right)();
};
inline std::vector<Algorithm>& algorithms() {
  static std::vector<Algorithm> list;
  return list;
}
struct Registered {
  Registered(const char* name, bool (*is_right)()) { algorithms().push_back({name, is_right}); }
};
/// Begins a function that returns whether the algorithm's results are right.
#define ALGORITHM(of, name)                                                      \
  static bool of##_##name();                                                     \
  static const Registered registered_##of##_##name(#of "::" #name, of##_##name); \
  static bool of##_##name()

constexpr int n = 5000;
template <class T>
struct Array {
  T* p = nullptr;
  explicit Array(int count = n) {
    cudaMallocManaged(&p, count * sizeof(T));
    for (int k = 0; k < count; ++k) p[k] = T();
  }
  ~Array() { cudaFree(p); }
  Array(const Array&) = delete;
  T& operator[](int k) { return p[k]; }
  operator T*() { return p; }
};
inline int value_at(int k) { return int(unsigned(k) * 2654435761u >> 18) % 1000; }
/// Numbers that look random.
struct Numbers : Array<int> {
  Numbers() {
    for (int k = 0; k < n; ++k) p[k] = value_at(k);
  }
};
/// Runs an algorithm of a device that first says how much memory it needs. Returns whether its calls succeed.
template <class F>
bool runs(F algorithm) {
  size_t bytes = 0;
  void* storage = nullptr;
  if (algorithm(storage, bytes) != cudaSuccess) return false;
  cudaMalloc(&storage, bytes > 0 ? bytes : 1);
  const bool good = algorithm(storage, bytes) == cudaSuccess;
  const bool ended = cudaDeviceSynchronize() == cudaSuccess;
  cudaFree(storage);
  return good && ended;
}

int main(int count, char** arguments) {
  for (const Algorithm& a : algorithms()) {
    if (count < 2)
      std::printf("%s\n", a.name);
    else if (std::strcmp(arguments[1], a.name) == 0)
      return a.is_right() ? 0 : 3;
  }
  return count < 2 ? 0 : 4;
}
